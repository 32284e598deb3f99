#include "admin/check.hpp"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <utility>

#include "cli/ask_daemon.hpp"
#include "cli/command.hpp"
#include "daemon/configuration.hpp"
#include "daemon/preparation.hpp"
#include "inbox/handler_transaction.hpp"
#include "plugin/plugin.hpp"

namespace inboxd::cli {
namespace {

using admin::Finding;
using admin::FoundList;
using base::ExitCode;
using Kind = Finding::Kind;

/// For one question to the brokers.
constexpr std::chrono::milliseconds patience{10'000};

bool is_good_enough(const Finding& finding) { return finding.kind < Kind::problem; }

Tone tone_of(Kind kind) {
  if (kind == Kind::good) return Tone::good;
  return kind == Kind::warning ? Tone::warning : Tone::bad;
}

Kind kind_of(const std::string& name) {
  for (const Kind kind : {Kind::good, Kind::warning, Kind::problem}) {
    if (name == admin::name_of(kind)) return kind;
  }
  return Kind::unreachable;
}

/// What was found is shown as it comes: brokers that are not there take their time.
class Report final {
 public:
  explicit Report(Session& session) : session_{session} {}

  void add(FoundList findings) {
    for (Finding& finding : findings) {
      if (!session_.json) {
        const Look& look = session_.output.look;
        session_.output.out << in_tone(name_of(finding.kind), tone_of(finding.kind), look) << "  "
                            << one_line(finding.subject) << ": " << one_line(finding.message) << '\n'
                            << std::flush;
      }
      all_.push_back(std::move(finding));
    }
  }

  /// `configuration`: the file itself is wrong.
  ExitCode finish(bool configuration) {
    if (session_.json) session_.print(document_of(all_));
    const ExitCode verdict = verdict_on(all_);
    return configuration && verdict != ExitCode::done ? ExitCode::configuration : verdict;
  }

 private:
  Session& session_;
  FoundList all_;
};

FoundList findings_of(const config::Loaded& loaded) {
  FoundList out;
  for (const auto& problem : loaded.problems) out.push_back({Kind::problem, "configuration", problem.text()});
  for (const auto& warning : loaded.warnings) out.push_back({Kind::warning, "configuration", warning.text()});
  if (loaded.ok()) {
    out.push_back({Kind::good, "configuration",
                   loaded.file + ": topics " + std::to_string(loaded.settings.topics.size()) + ", handlers " +
                       std::to_string(loaded.settings.handlers.size())});
  }
  return out;
}

/// `with_database`: it is in order, so that the SQL of handlers can be looked at.
FoundList check_plugins(const config::Settings& settings, bool with_database) {
  FoundList out;
  const auto where = plugin::default_search_path();
  auto log = command_log();
  inbox::Watchdog watchdog;
  const auto describer = with_database ? inbox::database_describer(settings.database, watchdog, log) : nullptr;
  std::vector<daemon::Writer> writers;
  for (const auto& handler : settings.handlers) {
    const std::string subject = "handler " + handler.name;
    const auto description = plugin::inspect(handler.plugin, where);
    if (!description) {
      out.push_back({Kind::problem, subject, description.problem().message});
      continue;
    }
    const auto instance = plugin::load(handler, where, log, describer.get());
    if (!instance) {
      out.push_back({Kind::problem, subject, instance.problem().message});
    } else {
      const bool writes = instance.value()->needs().sql;
      if (writes) writers.push_back({handler.name, handler.concurrency});
      out.push_back({Kind::good, subject,
                     description.value().name + " " + description.value().version + " from " +
                         description.value().path +
                         (writes && !with_database ? "; its SQL is looked at when the database is in order" : "")});
    }
  }
  if (const auto problem = daemon::connections_problem(writers, settings)) {
    out.push_back({Kind::problem, "configuration", problem->message});
  }
  return out;
}

/// What the running daemon finds, which has it for its own file, network and rights.
ExitCode check_running(Session& session) {
  const auto loaded = session.load();
  if (!loaded) return ExitCode::configuration;
  const auto answer = ask_daemon(loaded->settings, "check", {});
  if (!answer.message.empty()) session.say("check: " + answer.message);
  if (!answer.document.is_object()) return answer.code;
  Report report{session};
  for (const auto& found : answer.document.at("findings")) {
    report.add({{kind_of(found.at("result")), found.at("subject"), found.at("message")}});
  }
  return report.finish(false);
}

ExitCode check(Session& session, const admin::Arguments& arguments) {
  const bool offline = arguments.flag("offline");
  if (offline && arguments.flag("running")) {
    session.say("check: --offline or --running, not both");
    return ExitCode::usage;
  }
  if (arguments.flag("running")) return check_running(session);
  Report report{session};
  const auto loaded = daemon::load_configuration(session.config_file, offline);
  report.add(findings_of(loaded));
  if (!loaded.ok()) return report.finish(true);
  if (offline) return report.finish(false);
  auto unprepared = loaded.settings.database;
  unprepared.prepare = false;
  auto log = command_log();
  inbox::Watchdog watchdog;
  inbox::Connection first{unprepared, "check", watchdog, log};
  inbox::Connection second{unprepared, "check", watchdog, log};
  const auto database = admin::check_database(loaded.settings, first, &second);
  report.add(database);
  report.add(check_plugins(loaded.settings, std::all_of(database.begin(), database.end(), is_good_enough)));
  report.add(admin::check_brokers(loaded.settings, patience));
  return report.finish(false);
}

}  // namespace

Command check_command() {
  return {"check",
          "Whether everything is there that the configuration needs: plugins, database, brokers, topics.",
          {{"check", "before the first start, and whenever something does not work"},
           {"check --offline", "the file alone, for instance before it is rolled out"},
           {"check --running", "database, brokers and topics as the running daemon sees them; needs admin.token"}},
          {{"offline", admin::Parameter::Kind::flag, "only the file: no database, no brokers, no plugins, no secrets"},
           {"running", admin::Parameter::Kind::flag,
            "what the running daemon finds, asked over its admin port; its plugins are loaded"}},
          check};
}

}  // namespace inboxd::cli
