#include <array>
#include <chrono>
#include <ostream>

#include "admin/api.hpp"
#include "admin/http_client.hpp"
#include "cli/ask_daemon.hpp"
#include "cli/command.hpp"
#include "cli/present.hpp"
#include "config/show.hpp"
#include "daemon/descriptors.hpp"
#include "daemon/first_process.hpp"
#include "daemon/load_configuration.hpp"
#include "daemon/run_daemon.hpp"

namespace inboxd::cli {
namespace {

using namespace std::chrono_literals;
using base::ExitCode;
using operations::Document;
using Kind = operations::Parameter::Kind;

Document document_of(const daemon::Totals& totals) {
  return {{"stored", totals.stored},
          {"duplicates", totals.duplicates},
          {"quarantined", totals.quarantined},
          {"conflicts", totals.conflicts},
          {"done", totals.done},
          {"retried", totals.retried},
          {"dead", totals.dead},
          {"expired", totals.expired},
          {"leases_lost", totals.leases_lost}};
}

ExitCode run(Session& session, const operations::Arguments& arguments) {
  if (const auto status = daemon::run_as_first_process()) return static_cast<ExitCode>(*status);
  const auto loaded = session.load();
  if (!loaded) return ExitCode::configuration;
  const config::Settings& settings = loaded->settings;
  daemon::raise_descriptor_limit(settings);
  base::Logger log{settings.log.level, daemon::format_of(settings.log)};
  for (const auto& warning : loaded->warnings) log.warn("config.warning", {{"warning", warning.text()}});
  daemon::RunOptions options;
  options.migrate = arguments.flag("migrate");
  options.until_idle = arguments.flag("until-idle");
  options.config_file = session.config_file;
  if (session.json) {
    options.at_end = [&](const daemon::Totals& totals) { session.print(document_of(totals)); };
  }
  return daemon::run(*loaded, options, log);
}

struct Check {
  const char* path;
  const char* yes;
  const char* no;
};
constexpr std::array<Check, 2> checks{{{"/livez", "alive", "not alive"}, {"/readyz", "ready", "not ready"}}};

std::string text_of(const Document& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

ExitCode health(Session& session, const operations::Arguments& arguments) {
  const auto loaded = session.load(true);  // without secrets: the health check may lack the right to read them
  if (!loaded) return ExitCode::configuration;
  Document document = Document::object();
  bool is_well = true;
  for (const Check& check : checks) {
    if (arguments.flag("live") && check.path != checks.front().path) break;
    const auto response = admin::ask(loaded->settings.admin, {"GET", check.path, "", ""}, 5s);
    if (!response) {
      session.say("health: " + response.problem().message);
      return ExitCode::no;
    }
    Document found = Document::parse(response.value().body, nullptr, false);
    if (!found.is_object() || !found.contains("is_well") || !found.contains("reasons")) {
      session.say("health: " + admin::answer_of(response.value()).message);
      return ExitCode::no;
    }
    std::string line = response.value().status == 200 ? check.yes : check.no;
    for (const auto& reason : found["reasons"]) line += ": " + text_of(reason);
    is_well = is_well && response.value().status == 200;
    document[check.yes] = std::move(found);
    if (!session.json) session.output.out << one_line(line) << '\n';
  }
  if (session.json) session.print(document);
  return is_well ? ExitCode::done : ExitCode::no;
}

/// The configuration in force in the running daemon: a changed file is not, before a reload or a restart.
ExitCode show_running(Session& session, const config::Settings& settings) {
  const auto answer = ask_daemon(settings, "config show", {});
  if (!answer.message.empty()) session.say("config show: " + answer.message);
  if (!answer.document.is_object()) return answer.code;
  if (session.json)
    session.print(answer.document);
  else
    session.output.out << present_configuration(answer.document, session.output.look) << std::flush;
  return answer.code;
}

ExitCode show_configuration(Session& session, const operations::Arguments& arguments) {
  const auto loaded = session.load();
  if (!loaded) return ExitCode::configuration;
  if (arguments.flag("running")) return show_running(session, loaded->settings);
  for (const auto& warning : loaded->warnings) session.say(warning.text());
  session.output.out << (session.json ? config::show_json(*loaded) : config::show_text(*loaded)) << std::flush;
  return ExitCode::done;
}

}  // namespace

Command run_command() {
  return {"run",
          "Runs the daemon, from Kafka into the inbox and through the handlers, until SIGTERM or Ctrl-C.",
          {{"run --config /etc/inboxd/inboxd.yaml", "as a service"},
           {"run --migrate", "applies due migrations first"},
           {"run --migrate --until-idle", "for jobs and tests: ends once all present events are settled"},
           {"run --until-idle --json", "also prints totals on stdout"}},
          {{"migrate", Kind::flag, "apply due migrations first"},
           {"until-idle", Kind::flag,
            "end once all present events are settled: with status 0, or 1 if a halted partition keeps some back"}},
          run};
}

Command health_command() {
  return {"health",
          "Whether the daemon of this configuration is alive and ready: exit status 0 or 1, for health checks. A "
          "daemon whose database or brokers are away stays ready: it waits, and a restart would not help; see status.",
          {{"health", "asks over its admin port"}, {"health --live", "alive only: for a supervisor that restarts it"}},
          {{"live", Kind::flag, "ask only whether it is alive"}},
          health};
}

Command config_show_command() {
  return {"config show",
          "Every key with its value and origin; secrets as stars.",
          {{"config show", "the values of the file, each with its line"},
           {"config show --running", "the values in force in the running daemon; needs a token"}},
          {{"running", Kind::flag, "ask the running daemon over its admin port"}},
          show_configuration};
}

}  // namespace inboxd::cli
