#include "daemon/run.hpp"

#include "cli/command.hpp"
#include "daemon/log_format.hpp"

namespace inboxd::cli {
namespace {

base::ExitCode run(Session& session, const admin::Arguments& arguments) {
  const auto loaded = session.load();
  if (!loaded) return base::ExitCode::configuration;
  const config::Settings& settings = loaded->settings;
  base::Logger log{settings.log.level, daemon::format_of(settings.log)};
  for (const auto& warning : loaded->warnings) log.warn("config: warning", {{"warning", warning.text()}});
  daemon::RunOptions options;
  options.migrate = arguments.flag("migrate");
  options.until_idle = arguments.flag("until-idle");
  options.config_file = session.config_file;
  return daemon::run(*loaded, options, log);
}

}  // namespace

Command run_command() {
  using Kind = admin::Parameter::Kind;
  return {
      "run",
      "The daemon: from Kafka into the inbox and through the handlers, until SIGTERM or Ctrl-C.",
      {{"run --config /etc/inboxd/inboxd.yaml", "as a service"},
       {"run --migrate", "brings the database's schema up to date first"},
       {"run --migrate --until-idle", "for jobs and tests: ends once every event there was is settled"}},
      {{"migrate", Kind::flag, "apply migrations that are due first"},
       {"until-idle", Kind::flag,
        "end with status 0 once every event there was is settled, with 1 where a halted partition keeps some back"}},
      false,
      run};
}

}  // namespace inboxd::cli
