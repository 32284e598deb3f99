#include "daemon/run.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "admin/admin_port.hpp"
#include "base/loop.hpp"
#include "config/units.hpp"
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

/// The end where a plugin does not come back from being made: its thread uses what the end would destroy.
[[noreturn]] void leave_behind(ExitCode code, base::Logger& log) {
  log.warn("daemon: a plugin does not come back from being made, its thread is left");
  std::_Exit(static_cast<int>(code));
}

/// All that a start waits for: the database, migrations, plugins. In a thread of its own, so that a stop ends it at
/// once; but for a plugin that is being made, which has as long as running calls have.
PreparedHandlers prepare_aside(inbox::Connection& connection, const config::Settings& settings,
                               const inbox::InstanceIdentity& instance, bool migrate, inbox::Watchdog& watchdog,
                               const Notify& notify, base::Logger& log) {
  auto preparing = std::async(std::launch::async,
                              [&] { return prepare(connection, settings, instance, migrate, watchdog, notify, log); });
  while (preparing.wait_for(0s) != std::future_status::ready) {
    if (!wait_for_stop(short_turn)) continue;
    let_second_stop_exit();
    watchdog.cut_all(Clock::now());
    notify.status("stopping before it was ready");
    if (preparing.wait_for(settings.drain) != std::future_status::ready) leave_behind(ExitCode::done, log);
    return {{}, Refusal{ExitCode::done, "stopped before it was ready"}};
  }
  return preparing.get();
}

/// Says how the daemon fares, as often as it is wanted: to systemd that it lives and what it does, to the log its
/// rates.
class Heartbeat final {
 public:
  /// `settings` may change between two looks: a reload.
  Heartbeat(const config::Settings& settings, const Notify& notify, Daemon& daemon, base::Logger& log)
      : settings_{settings}, notify_{notify}, daemon_{daemon}, log_{log} {}

  void look(Clock::time_point now) {
    const std::string still = base::standing_still(daemon_.loops(), now, longest_standstill(settings_));
    tell_standstill(still, now);
    if (still.empty()) say_alive(now);
    log_rates(now);
    tell_status(now);
  }

 private:
  /// A watchdog may end the process for it: the journal is to say why. Told when two looks in a row agree: after a
  /// pause of the whole process the main thread may come round first.
  void tell_standstill(const std::string& still, Clock::time_point now) {
    const bool is_new = now - began_ < longest_standstill(settings_);  // some have yet to come round for the first time
    const bool is_news = !is_new && still == seen_still_ && still != told_still_;
    seen_still_ = still;
    if (!is_news) return;
    told_still_ = still;
    if (still.empty()) {
      log_.info("daemon: every loop moves again");
    } else {
      log_.error("daemon: a loop stands still",
                 {{"loop", still}, {"longer_than", config::duration_text(longest_standstill(settings_))}});
    }
  }

  void say_alive(Clock::time_point now) {
    if (!notify_.alive_every() || now < next_alive_) return;
    notify_.alive();
    next_alive_ = now + std::min<Clock::duration>(*notify_.alive_every(), 1s);
  }

  void log_rates(Clock::time_point now) {
    if (now < next_rates_) return;
    next_rates_ = now + rates_every;
    daemon_.log_rates();
  }

  void tell_status(Clock::time_point now) {
    if (now - last_status_ < status_every) return;
    const StatusFigures figures = daemon_.status();
    notify_.status(status_text(last_figures_, figures, now - last_status_));
    last_figures_ = figures;
    last_status_ = now;
  }

  const config::Settings& settings_;
  const Notify& notify_;
  Daemon& daemon_;
  base::Logger& log_;
  const Clock::time_point began_ = Clock::now();
  std::string seen_still_, told_still_;
  Clock::time_point next_alive_ = Clock::now();
  Clock::time_point next_rates_ = Clock::now() + rates_every;
  Clock::time_point last_status_ = Clock::now() - status_every;  ///< what the start said last is over
  StatusFigures last_figures_;
};

void pause(Daemon& daemon, bool paused, const std::string& by, base::Logger& log) {
  daemon.pause_all(paused, by);
  log.info(paused ? "daemon: all handlers are paused in this instance" : "daemon: all handlers go on");
}

/// With which code the daemon is to end by itself; nothing: it is not.
std::optional<ExitCode> end_by_itself(Daemon& daemon, const Reload& reload, std::optional<UntilIdle>& until_idle) {
  if (daemon.failed()) return ExitCode::try_again;
  if (!until_idle || reload.is_pending()) return std::nullopt;
  switch (until_idle->look(daemon.consumer().asker(), daemon.handlers())) {
    case UntilIdle::State::busy:
      return std::nullopt;
    case UntilIdle::State::idle:
      return ExitCode::done;
    case UntilIdle::State::stuck:
      return ExitCode::no;
  }
  return std::nullopt;
}

/// What the main thread does while the daemon runs, until it is to stop: signals, reloads, signs of life.
ExitCode attend(Daemon& daemon, Reload& reload, std::optional<UntilIdle>& until_idle, LiveDaemon& live,
                const Notify& notify, Heartbeat heartbeat, base::Logger& log) {
  while (true) {
    live.attended();
    const auto signal = wait_for_signal(reload.is_running() ? short_turn : turn);
    const auto request = signal ? std::optional{signal->request} : std::nullopt;
    if (request == Request::stop) return ExitCode::done;
    if (request == Request::reload) {
      reload.ask();
      daemon.note(signal->sender, "instance reload");
    }
    if (reload.begin()) notify.reloading();
    if (const auto worked = reload.end()) {
      live.reloaded(*worked);
      live.set_in_force(reload.in_force());
      notify.ready();
    }
    if (request == Request::pause || request == Request::resume) {
      pause(daemon, request == Request::pause, signal->sender, log);
    }
    if (const auto code = end_by_itself(daemon, reload, until_idle)) return *code;
    heartbeat.look(Clock::now());
  }
}

struct Served {
  ExitCode code = ExitCode::done;
  bool leaves_calls = false;  ///< threads are left that still use the daemon, which is left to them
};

/// Destroys the daemon, which has stopped, unless threads are left that still use it: whether they are.
bool leaves_calls_of(std::unique_ptr<Daemon> daemon) {
  const bool leaves_calls = daemon->dispatcher().has_left_calls();
  if (leaves_calls) static_cast<void>(daemon.release());
  return leaves_calls;
}

/// Until it is to stop.
Served serve(const config::Loaded& given, const RunOptions& options, base::Logger& log) {
  block_signals();
  config::Loaded loaded = given;
  const config::Settings& settings = loaded.settings;
  const Notify notify;
  const auto owner = base::random_uuid();
  // Before anything that takes time, so that whoever asks hears that it is starting.
  LiveDaemon live{settings, owner, log};
  admin::AdminPort port{settings, live, log};
  live.set_http(port.counts());
  live.set_in_force(loaded);
  if (const auto problem = port.start()) {
    return {refuse({problem->is_taken ? ExitCode::try_again : ExitCode::configuration,
                    problem->message + "; admin.listen says where, off needs none"},
                   log)};
  }
  inbox::Watchdog watchdog;
  inbox::Connection connection{settings.database, "control", watchdog, log};
  auto prepared = prepare_aside(connection, settings, identity_of(owner), options.migrate, watchdog, notify, log);
  if (prepared.refusal) return {refuse(*prepared.refusal, log)};

  auto owned = std::make_unique<Daemon>(settings, owner, log);
  Daemon& daemon = *owned;
  if (const auto problem = daemon.start(std::move(prepared.handlers))) {
    daemon.stop(0ms);
    const bool leaves_calls = leaves_calls_of(std::move(owned));
    return {refuse({ExitCode::configuration, problem->message}, log), leaves_calls};
  }
  live.attach(daemon);
  notify.ready();
  log.info("daemon: started", {{"version", INBOXD_VERSION},
                               {"instance", owner.text()},
                               {"database", connection.where()},
                               {"handlers", settings.handlers.size()},
                               {"topics", settings.topics.size()}});

  std::optional<UntilIdle> until_idle;
  if (options.until_idle) until_idle.emplace(settings, watchdog, log);
  // Outlives attend(): a stop cuts what it waits for.
  Reload reload{loaded, options.config_file, identity_of(owner), connection, watchdog, daemon, log};
  const ExitCode code = attend(daemon, reload, until_idle, live, notify, Heartbeat{settings, notify, daemon, log}, log);

  live.stopping();
  notify.stopping();
  notify.status("stopping, running calls have " + config::duration_text(settings.drain) + " to finish");
  const auto drained = Clock::now() + settings.drain;
  reload.request_stop();
  watchdog.cut_all(Clock::now());
  log.info("daemon: stopping", {{"drain_ms", settings.drain.count()}});
  let_second_stop_exit();
  daemon.stop(settings.drain);
  const bool has_reloaded = reload.join(drained);
  daemon.log_rates();
  if (options.at_end) options.at_end(daemon.totals());
  live.detach();
  port.request_stop();
  port.join();
  log.info("daemon: stopped");
  if (!has_reloaded) leave_behind(code, log);
  return {code, leaves_calls_of(std::move(owned))};
}

}  // namespace

ExitCode run(const config::Loaded& loaded, const RunOptions& options, base::Logger& log) {
  const Served served = serve(loaded, options, log);
  // A call that returns only now must not meet what the end of a process destroys.
  if (served.leaves_calls) std::_Exit(static_cast<int>(served.code));
  return served.code;
}

}  // namespace inboxd::daemon
