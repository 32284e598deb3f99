#include "daemon/run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "admin/admin_port.hpp"
#include "daemon/daemon.hpp"
#include "daemon/live.hpp"
#include "daemon/notify.hpp"
#include "daemon/reload.hpp"
#include "daemon/signals.hpp"
#include "daemon/until_idle.hpp"

namespace inboxd::daemon {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;
using Clock = std::chrono::steady_clock;

constexpr auto turn = 200ms;
constexpr auto short_turn = 20ms;  ///< while something is about to be ready
constexpr auto rates_every = 10s;
constexpr auto status_every = 2s;

ExitCode refuse(const Refusal& refusal, base::Logger& log) {
  if (refusal.code == ExitCode::done) {
    log.info("daemon: not started", {{"reason", refusal.message}});
  } else {
    log.error("daemon: cannot start", {{"reason", refusal.message}});
  }
  return refusal.code;
}

/// All that a start waits for: the database, migrations, plugins. In a thread of its own, so that a stop ends it at
/// once.
PreparedHandlers prepare_aside(inbox::Connection& connection, const config::Settings& settings,
                               const inbox::InstanceIdentity& instance, bool migrate, inbox::Watchdog& watchdog,
                               base::Logger& log) {
  auto preparing =
      std::async(std::launch::async, [&] { return prepare(connection, settings, instance, migrate, watchdog, log); });
  while (preparing.wait_for(0s) != std::future_status::ready) {
    if (!wait_for_stop(short_turn)) continue;
    let_second_stop_exit();
    watchdog.cut_all(Clock::now());
    preparing.wait();
    return {{}, Refusal{ExitCode::done, "stopped before it was ready"}};
  }
  return preparing.get();
}

/// Destroys the daemon, which has stopped, unless threads are left that still use it.
void end_of(std::unique_ptr<Daemon>& daemon, bool& leaves_calls) {
  leaves_calls = daemon->dispatcher().has_left_calls();
  if (leaves_calls) static_cast<void>(daemon.release());
  daemon.reset();
}

/// Until it is to stop. `leaves_calls`: threads are left that still use the daemon, which is left to them.
ExitCode serve(const config::Settings& given, const RunOptions& options, base::Logger& log, bool& leaves_calls) {
  block_signals();
  config::Settings settings = given;
  const Notify notify;
  const auto owner = base::random_uuid();
  // Before anything that takes time, so that whoever asks hears that it is starting.
  LiveDaemon live{settings, owner, log};
  admin::AdminPort port{settings, live, log};
  live.set_http(port.counts());
  if (const auto problem = port.start()) {
    return refuse({problem->is_taken ? ExitCode::try_again : ExitCode::configuration,
                   problem->message + "; admin.listen says where, off needs none"},
                  log);
  }
  inbox::Watchdog watchdog;
  inbox::Connection connection{settings.database, "control", watchdog, log};
  auto prepared = prepare_aside(connection, settings, identity_of(owner), options.migrate, watchdog, log);
  if (prepared.refusal) return refuse(*prepared.refusal, log);

  auto owned = std::make_unique<Daemon>(settings, owner, log);
  Daemon& daemon = *owned;
  if (const auto problem = daemon.start(std::move(prepared.handlers))) {
    daemon.stop(0ms);
    end_of(owned, leaves_calls);
    return refuse({ExitCode::configuration, problem->message}, log);
  }
  live.attach(daemon);
  notify.ready();
  log.info("daemon: started", {{"version", INBOXD_VERSION},
                               {"instance", owner.text()},
                               {"database", connection.where()},
                               {"handlers", settings.handlers.size()},
                               {"topics", settings.topics.size()}});

  UntilIdle until_idle{settings, watchdog, log};
  Reload reload{settings, options.config_file, identity_of(owner), connection, watchdog, daemon, log};
  auto next_rates = Clock::now() + rates_every;
  auto next_alive = Clock::now();
  auto last_status = Clock::now();
  StatusFigures last_figures;
  ExitCode code = ExitCode::done;
  while (true) {
    const auto request = wait_for_signal(reload.is_running() ? short_turn : turn);
    if (request == Request::stop) break;
    if (request == Request::reload) reload.ask();
    if (reload.begin()) notify.reloading();
    if (const auto worked = reload.end()) {
      live.reloaded(*worked);
      notify.ready();
    }
    if (request == Request::pause || request == Request::resume) {
      daemon.pause_all(request == Request::pause);
      log.info(request == Request::pause ? "daemon: all handlers are paused in this instance"
                                         : "daemon: all handlers go on");
    }
    if (daemon.failed()) {
      code = ExitCode::try_again;
      break;
    }
    if (options.until_idle) {
      const auto state = until_idle.look(daemon.consumer().asker());
      if (state == UntilIdle::State::stuck) code = ExitCode::no;
      if (state != UntilIdle::State::busy) break;
    }
    const auto now = Clock::now();
    if (notify.alive_every() && now >= next_alive && daemon.moves(longest_standstill(settings))) {
      notify.alive();
      next_alive = now + std::min<Clock::duration>(*notify.alive_every(), 1s);
    }
    if (now >= next_rates) {
      next_rates = now + rates_every;
      daemon.log_rates();
    }
    if (now - last_status >= status_every) {
      const StatusFigures figures = daemon.status();
      notify.status(status_text(last_figures, figures, now - last_status));
      last_figures = figures;
      last_status = now;
    }
  }
  live.stopping();
  notify.stopping();
  watchdog.cut_all(Clock::now());  // a reload that runs is wanted no more
  log.info("daemon: stopping", {{"drain_ms", settings.drain.count()}});
  let_second_stop_exit();
  daemon.stop(settings.drain);
  daemon.log_rates();
  live.detach();
  port.request_stop();
  port.join();
  log.info("daemon: stopped");
  end_of(owned, leaves_calls);
  return code;
}

}  // namespace

ExitCode run(const config::Settings& settings, const RunOptions& options, base::Logger& log) {
  bool leaves_calls = false;
  const ExitCode code = serve(settings, options, log, leaves_calls);
  // A call that returns only now must not meet what the end of a process destroys.
  if (leaves_calls) std::_Exit(static_cast<int>(code));
  return code;
}

}  // namespace inboxd::daemon
