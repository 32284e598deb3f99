#include <array>
#include <chrono>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "admin/http_client.hpp"
#include "base/exit_code.hpp"
#include "cli/bundle.hpp"
#include "cli/command.hpp"
#include "cli/terminal_text.hpp"
#include "config/show.hpp"
#include "event/now.hpp"
#include "inbox/answer.hpp"
#include "operations/check.hpp"
#include "operations/unsafe_connections.hpp"

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

/// Runs an operation of the table that reads. A failure is the part's error.
Document part_of(std::string_view verb, const config::Loaded& file, inbox::Connection& connection) {
  for (const auto& operation : operations::operations()) {
    if (operation.verb != verb) continue;
    operations::Context context;
    context.connection = &connection;
    context.retention = file.settings.retention;
    context.shows_content = false;  // no keys and messages of events
    for (const auto& handler : file.settings.handlers) context.handlers.push_back(handler.name);
    std::map<std::string, std::vector<std::string>> given;
    if (verb == "status") given["sizes"] = {"true"};
    try {
      const auto arguments = operations::read_arguments(operation.parameters, given, event::now());
      return operations::run(operation, context, arguments.value()).document;
    } catch (...) {
      const auto failure = inbox::describe(std::current_exception());  // rethrows a bug
      return {{"error", operations::answer_for(failure, connection.where()).message}};
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

ExitCode doctor(Session& session, const operations::Arguments& arguments) {
  const auto loaded = session.load();
  if (!loaded) return ExitCode::configuration;
  auto unprepared = loaded->settings.database;
  unprepared.prepare = false;
  auto log = command_log();
  inbox::Watchdog watchdog;
  inbox::Connection first{unprepared, "doctor", watchdog, log};
  inbox::Connection second{unprepared, "doctor", watchdog, log};
  FoundList found = operations::check_connections(loaded->settings);
  for (Finding& finding : operations::check_database(loaded->settings, first, &second))
    found.push_back(std::move(finding));
  for (Finding& finding : operations::check_brokers(loaded->settings, answer_timeout))
    found.push_back(std::move(finding));

  Document bundle = {{"machine", machine()}, {"check", document_of(found)}};
  for (const auto verb : asked) bundle[std::string{verb}] = part_of(verb, *loaded, first);
  const Document& status = bundle["status"];
  if (!session.json) show(session, found, status);
  const bool is_well = verdict_on(found) == ExitCode::done && status.value("is_well", false);
  const auto path = arguments.text("bundle");
  if (session.json || path) {
    bundle["configuration"] = Document::parse(config::show_json(*loaded), nullptr, false);
    bundle["metrics"] = metrics_of(loaded->settings.admin);
    // Messages of servers and handlers may quote settings.
    const auto hidden = config::hidden_texts(*loaded);
    for (auto& [name, part] : bundle.items()) {
      hide(part, hidden);
      fit(part, max_part);
    }
  }
  if (session.json) session.print(bundle);
  if (path) {
    const auto replace = Document::error_handler_t::replace;
    std::string text = bundle.dump(1, ' ', false, replace);
    if (text.size() > max_bundle) text = bundle.dump(-1, ' ', false, replace);
    if (const auto problem = write_new_file(*path, text)) {
      session.say("doctor: " + *problem);
      return ExitCode::no;
    }
    session.say("doctor: wrote " + *path +
                ": no secrets, payloads, keys or messages of events; host names, topics and " + "settings are in it");
  }
  if (!session.json && is_well) session.output.out << "all is well\n" << std::flush;
  return is_well ? ExitCode::done : ExitCode::no;
}

}  // namespace

Command doctor_command() {
  return {"doctor",
          "Checks database, brokers and inbox, and collects the findings for a report. Exits with 1 after problems.",
          {{"doctor", "findings and remedies, of check and status together"},
           {"doctor --bundle inboxd.json",
            "also a file for support, below 1 MiB: configuration without secrets, status, "
            "partitions, handlers, metrics, machine"}},
          {{"bundle", operations::Parameter::Kind::text, "a new file; only its owner may read it", "FILE"}},
          doctor};
}

}  // namespace inboxd::cli
