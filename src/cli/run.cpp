#include "daemon/run.hpp"

#include "cli/command.hpp"
#include "daemon/log_format.hpp"

namespace inboxd::cli {
namespace {

admin::Document document_of(const daemon::Totals& totals) {
  return {{"stored", totals.stored},
          {"duplicates", totals.duplicates},
          {"quarantined", totals.quarantined},
          {"conflicts", totals.conflicts},
          {"done", totals.done},
          {"retried", totals.retried},
          {"dead", totals.dead},
          {"leases_lost", totals.leases_lost}};
}

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
  if (session.json) {
    options.at_end = [&](const daemon::Totals& totals) { session.print(document_of(totals)); };
  }
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
       {"run --migrate --until-idle", "for jobs and tests: ends once every event there was is settled"},
       {"run --until-idle --json", "and says on stdout what it has done"}},
      {{"migrate", Kind::flag, "apply migrations that are due first"},
       {"until-idle", Kind::flag,
        "end with status 0 once every event there was is settled, with 1 where a halted partition keeps some back"}},
      run};
}

}  // namespace inboxd::cli
