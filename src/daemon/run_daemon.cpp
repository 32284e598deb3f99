#include "daemon/run_daemon.hpp"

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <optional>
#include <utility>

#include "admin/admin_port.hpp"
#include "base/crash_report.hpp"
#include "base/presence.hpp"
#include "config/units.hpp"
#include "daemon/daemon.hpp"
#include "daemon/daemon_view.hpp"
#include "daemon/health_reporter.hpp"
#include "daemon/load_configuration.hpp"
#include "daemon/notify.hpp"
#include "daemon/prepare_handlers.hpp"
#include "daemon/reload.hpp"
#include "daemon/secret_files.hpp"
#include "daemon/signals.hpp"
#include "daemon/until_idle.hpp"
#include "event/now.hpp"
#include "plugin/loader.hpp"

namespace inboxd::daemon {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;
using Clock = std::chrono::steady_clock;

constexpr auto turn = 200ms;
constexpr auto short_turn = 20ms;  ///< while another thread prepares something

ExitCode refuse(const Refusal& refusal, base::Logger& log) {
  if (refusal.code == ExitCode::done) {
    log.info("daemon.not_started", {{"reason", refusal.message}});
  } else {
    log.error("daemon.start_failed", {{"reason", refusal.message}});
  }
  return refusal.code;
}

/// Exits without destructors: the plugin's thread still uses the objects that they would destroy.
[[noreturn]] void exit_beside_hung_plugin(ExitCode code, base::Logger& log) {
  log.warn("daemon.plugin_create_hangs");
  std::_Exit(static_cast<int>(code));
}

std::optional<Refusal> start_port(admin::AdminPort& port) {
  const auto problem = port.start();
  if (!problem) return std::nullopt;
  return Refusal{problem->is_taken ? ExitCode::try_again : ExitCode::configuration, problem->message};
}

/// Prepares database and handlers in another thread, so that a stop is heard. The stop cuts their connections, and
/// gives a plugin that is being created as long as running calls.
PreparedHandlers prepare_in_background(inbox::Connection& connection, const config::Loaded& file,
                                       const inbox::InstanceIdentity& instance, plugin::Loader& plugins, bool migrate,
                                       inbox::Watchdog& watchdog, const Notify& notify, base::Logger& log) {
  auto preparing = std::async(std::launch::async, [&] {
    return prepare(connection, file, instance, plugins, migrate, watchdog, notify, log);
  });
  while (preparing.wait_for(0s) != std::future_status::ready) {
    if (!wait_for_stop(short_turn)) continue;
    let_second_stop_exit();
    watchdog.cut_all(Clock::now());
    notify.status("stopping before it was ready");
    if (preparing.wait_for(file.settings.drain) != std::future_status::ready) {
      exit_beside_hung_plugin(ExitCode::done, log);
    }
    return {.refusal = Refusal{ExitCode::done, "stopped before it was ready"}};
  }
  return preparing.get();
}

/// The parts that the main thread serves while the daemon runs.
struct Running {
  const config::Settings& settings;
  Daemon& daemon;
  Reload& reload;
  SecretFiles secret_files;
  std::optional<UntilIdle>& until_idle;
  HealthReporter& reporter;
  DaemonView& view;
  const Notify& notify;
  base::Logger& log;
};

void pause(Daemon& daemon, bool paused, const std::string& actor, base::Logger& log) {
  daemon.pause_all(paused, actor);
  log.info(paused ? "daemon.handlers_paused" : "daemon.handlers_resumed");
}

void handle(const Signal& signal, Running& parts) {
  switch (signal.request) {
    case Request::reload:
      parts.reload.request();
      parts.daemon.note(signal.sender, "instance reload");
      return;
    case Request::pause:
    case Request::resume:
      return pause(parts.daemon, signal.request == Request::pause, signal.sender, parts.log);
    case Request::stop:
      return;
  }
}

void advance_reload(Running& parts) {
  if (parts.secret_files.have_changed(parts.reload.in_force(), Clock::now())) {
    parts.log.info("daemon.secret_changed");
    parts.reload.request_for_handlers();
  }
  if (parts.daemon.take_stale_handlers()) parts.reload.request_for_handlers();
  if (parts.reload.begin()) parts.notify.reloading();
  if (const auto succeeded = parts.reload.finish()) {
    parts.view.reloaded(*succeeded);
    if (!*succeeded) parts.daemon.history().note({event::now(), "fault", "a reload was refused; see the log"});
    parts.view.set_in_force(parts.reload.in_force());
    parts.notify.ready();
  }
}

/// The exit status if the daemon ends without a signal.
std::optional<ExitCode> end_by_itself(Running& parts) {
  if (parts.daemon.failed()) return ExitCode::try_again;
  if (!parts.until_idle || parts.reload.is_pending()) return std::nullopt;
  const auto client = parts.daemon.consumer().query_client();
  if (client == nullptr && parts.daemon.consumer().reads_kafka()) return std::nullopt;  // being replaced
  switch (parts.until_idle->check(client.get(), parts.daemon.handlers())) {
    case UntilIdle::State::busy:
      return std::nullopt;
    case UntilIdle::State::idle:
      return ExitCode::done;
    case UntilIdle::State::stuck:
      return ExitCode::no;
    case UntilIdle::State::held:
      return ExitCode::try_again;
  }
  return std::nullopt;
}

/// The main loop: signals, reloads, heartbeats. Returns the exit status.
ExitCode wait_for_end(Running& parts) {
  while (true) {
    parts.view.beat();
    const auto signal = wait_for_signal(parts.reload.is_running() ? short_turn : turn);
    if (signal && signal->request == Request::stop) return ExitCode::done;
    if (signal) handle(*signal, parts);
    advance_reload(parts);
    if (const auto code = end_by_itself(parts)) return *code;
    parts.reporter.report(Clock::now());
    parts.daemon.record_history();
  }
}

/// False: a reload's thread hangs in a plugin.
bool stop(Running& parts, inbox::Watchdog& watchdog, admin::AdminPort& port, const RunOptions& options) {
  let_second_stop_exit();  // first: nothing that follows may keep a second signal from ending the process
  auto& [settings, daemon, reload, secret_files, until_idle, reporter, view, notify, log] = parts;
  view.stopping();
  notify.stopping();
  notify.status("stopping, running calls have " + config::duration_text(settings.drain) + " to finish");
  const auto drained = Clock::now() + settings.drain;
  reload.request_stop();
  watchdog.cut_all(Clock::now());
  log.info("daemon.stopping", {{"drain_ms", settings.drain.count()}});
  daemon.stop(settings.drain);
  const bool has_reloaded = reload.join(drained);
  daemon.log_rates();
  if (options.at_end) options.at_end(daemon.totals());
  view.detach();
  port.request_stop();
  port.join();
  log.info("daemon.stopped");
  return has_reloaded;
}

struct Ended {
  ExitCode code = ExitCode::done;
  bool has_left_calls = false;  ///< threads of abandoned calls still use the daemon, which is leaked
};

/// Destroys a stopped daemon, or leaks it to the threads of abandoned calls.
Ended end_of(std::unique_ptr<Daemon> daemon, ExitCode code) {
  const bool has_left_calls = daemon->dispatcher().has_left_calls();
  if (has_left_calls) static_cast<void>(daemon.release());
  return {code, has_left_calls};
}

Ended serve(const config::Loaded& given, const RunOptions& options, base::Logger& log) {
  block_signals();
  base::report_crashes(format_of(given.settings.log));
  config::Loaded loaded = given;  // a reload changes it
  const config::Settings& settings = loaded.settings;
  const base::Uuid instance_id = base::random_uuid();
  const Notify notify;

  // The port comes first, so that health checks are answered during a slow start.
  DaemonView view{settings, instance_id, log};
  admin::AdminPort port{settings, view, log};
  view.set_http(port.counts());
  view.set_in_force(loaded);
  if (const auto refusal = start_port(port)) return {refuse(*refusal, log)};

  inbox::Watchdog watchdog;
  inbox::Connection connection{settings.database, "control", watchdog, log};
  plugin::Loader plugins;
  auto identity = identity_of(instance_id, settings);
  const base::Presence presence{instance_id};  // before other processes can read the identity
  if (presence.is_shown()) identity.boot = base::this_boot();
  auto prepared = prepare_in_background(connection, given, identity, plugins, options.migrate, watchdog, notify, log);
  if (prepared.refusal) return {refuse(*prepared.refusal, log)};

  auto daemon = std::make_unique<Daemon>(settings, instance_id, log);
  if (const auto refusal = daemon->start(std::move(prepared))) {
    daemon->stop(0ms);
    return end_of(std::move(daemon), refuse(*refusal, log));
  }
  view.attach(*daemon);
  notify.ready();
  log.info("daemon.started", {{"version", INBOXD_VERSION},
                              {"instance", instance_id.text()},
                              {"database", connection.where()},
                              {"handlers", settings.handlers.size()},
                              {"topics", settings.topics.size()}});

  std::optional<UntilIdle> until_idle;
  if (options.until_idle) until_idle.emplace(settings, watchdog, log);
  Reload reload{loaded, options.config_file, identity, plugins, connection, watchdog, *daemon, log};
  HealthReporter reporter{settings, notify, *daemon, log};
  Running parts{settings, *daemon, reload, {}, until_idle, reporter, view, notify, log};
  const ExitCode code = wait_for_end(parts);
  if (!stop(parts, watchdog, port, options)) exit_beside_hung_plugin(code, log);
  return end_of(std::move(daemon), code);
}

}  // namespace

ExitCode run(const config::Loaded& loaded, const RunOptions& options, base::Logger& log) {
  const Ended ended = serve(loaded, options, log);
  // An abandoned call that returns now must not meet the destructors of static objects.
  if (ended.has_left_calls) std::_Exit(static_cast<int>(ended.code));
  return ended.code;
}

}  // namespace inboxd::daemon
