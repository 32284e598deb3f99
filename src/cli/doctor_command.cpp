#include <array>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "admin/http_client.hpp"
#include "base/exit_code.hpp"
#include "cli/bundle.hpp"
#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/terminal_text.hpp"
#include "config/show.hpp"
#include "daemon/load_configuration.hpp"
#include "event/now.hpp"
#include "inbox/answer.hpp"
#include "operations/check.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Document;
using operations::Finding;
using operations::FoundList;

/// For one question to the brokers, and for the daemon's metrics.
constexpr std::chrono::milliseconds answer_timeout{5'000};

/// The operations whose answers are parts of a bundle.
constexpr std::array<std::string_view, 4> asked{"status", "handlers list", "partitions list", "version"};

/// Runs an operation of the table that reads. A failure is the part's error. `connection`: null if it needs none.
Document part_of(std::string_view verb, const config::Loaded& file, inbox::Connection* connection) {
  for (const auto& operation : operations::operations()) {
    if (operation.verb != verb) continue;
    operations::Context context;
    context.connection = connection;
    context.retention = file.settings.retention;
    context.filter_bytes = file.settings.ledger.filter_bytes;
    context.shows_content = false;  // no keys and messages of events
    for (const auto& handler : file.settings.handlers) context.handlers.push_back(handler.name);
    std::map<std::string, std::vector<std::string>> given;
    if (verb == "status") given["sizes"] = {"true"};
    try {
      const auto arguments = operations::read_arguments(operation.parameters, given, event::now());
      return operations::run(operation, context, arguments.value()).document;
    } catch (...) {
      const auto failure = inbox::describe(std::current_exception());  // rethrows a bug
      return {{"error", operations::answer_for(failure, connection->where()).message}};
    }
  }
  return nullptr;
}

Document metrics_of(const config::Admin& settings) {
  const auto answer = admin::ask(settings, {"GET", "/metrics", "", ""}, answer_timeout);
  if (!answer) return {{"error", answer.problem().message}};
  return {{"text", answer.value().body}};
}

/// Findings with a mark for each, and the remedies of status.
void show(const Session& session, const FoundList& found, const Document& status) {
  const Look& look = session.output.look;
  auto& out = session.output.out;
  for (const Finding& finding : found) {
    if (finding.kind == Finding::Kind::good) continue;
    const Tone tone = finding.kind == Finding::Kind::warning ? Tone::warning : Tone::bad;
    out << in_tone(name_of(finding.kind), tone, look) << "  " << one_line(finding.subject) << ": "
        << one_line(finding.message) << '\n';
  }
  for (const auto& finding : status.value("findings", Document::array())) {
    const std::string severity = finding.value("severity", "");
    out << in_tone(severity, severity == "problem" ? Tone::bad : Tone::warning, look)
        << "  status: " << one_line(finding.value("message", "")) << '\n';
    const Document remedy = finding.value("remedy", Document{});
    if (remedy.is_string()) out << "  " << one_line(remedy.get<std::string>()) << '\n';
  }
  out << std::flush;
}

/// Prints the bundle with --json, and writes it to `path`. False, with a message, if the file cannot be written.
bool hand_over(const Session& session, const config::Loaded& loaded, Document& bundle,
               const std::optional<std::string>& path) {
  // Messages of servers and handlers may quote settings.
  const auto hidden = config::hidden_texts(loaded);
  for (auto& [name, part] : bundle.items()) {
    hide(part, hidden);
    fit(part, max_part);
  }
  if (session.json) session.print(bundle);
  if (!path) return true;
  const auto replace = Document::error_handler_t::replace;
  std::string text = bundle.dump(1, ' ', false, replace);
  if (text.size() > max_bundle) text = bundle.dump(-1, ' ', false, replace);
  if (const auto problem = write_new_file(*path, text)) {
    session.say("doctor: " + *problem);
    return false;
  }
  session.say("doctor: wrote " + *path + ": no secrets, payloads, keys or messages of events; host names, topics and " +
              "settings are in it");
  return true;
}

/// A configuration with problems names no database and no daemon: the bundle has the problems, version and machine.
ExitCode refuse(const Session& session, const config::Loaded& loaded, const FoundList& found,
                const std::optional<std::string>& path) {
  for (const auto& problem : loaded.problems) session.say(problem.text());
  Document bundle = {{"machine", machine()}, {"check", document_of(found)}};
  bundle["version"] = part_of("version", loaded, nullptr);
  hand_over(session, loaded, bundle, path);
  return ExitCode::configuration;
}

ExitCode doctor(Session& session, const operations::Arguments& arguments) {
  const auto path = arguments.text("bundle");
  const auto loaded = daemon::load_configuration(session.config_file);
  FoundList found = check_file(loaded);
  if (!loaded.ok()) return refuse(session, loaded, found, path);
  auto unprepared = loaded.settings.database;
  unprepared.prepare = false;
  auto log = command_log();
  inbox::Watchdog watchdog;
  inbox::Connection first{unprepared, "doctor", watchdog, log};
  inbox::Connection second{unprepared, "doctor", watchdog, log};
  check_all(loaded, first, second, answer_timeout, [&](FoundList more) {
    found.insert(found.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  });

  Document bundle = {{"machine", machine()}, {"check", document_of(found)}};
  for (const auto verb : asked) bundle[std::string{verb}] = part_of(verb, loaded, &first);
  const Document& status = bundle["status"];
  if (!session.json) show(session, found, status);
  ExitCode verdict = verdict_on(found);
  if (verdict == ExitCode::done && !status.value("is_well", false)) verdict = ExitCode::no;
  if (session.json || path) {
    bundle["configuration"] = Document::parse(config::show_json(loaded), nullptr, false);
    bundle["metrics"] = metrics_of(loaded.settings.admin);
  }
  if (!hand_over(session, loaded, bundle, path)) return ExitCode::no;
  if (!session.json && verdict == ExitCode::done) session.output.out << "all is well\n" << std::flush;
  return verdict;
}

}  // namespace

Command doctor_command() {
  return {"doctor",
          "Checks all that `check` checks, and the inbox, and collects the findings for a report. Exits as `check`, "
          "and with 1 if an operator has to act.",
          {{"doctor", "findings and remedies, of check and status together"},
           {"doctor --bundle inboxd.json",
            "also a file for support, below 1 MiB: configuration without secrets, status, "
            "partitions, handlers, metrics, machine"}},
          {{"bundle", operations::Parameter::Kind::text, "a new file; only its owner may read it", "FILE"}},
          doctor};
}

}  // namespace inboxd::cli
