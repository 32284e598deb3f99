#include <algorithm>
#include <ostream>

#include "cli/command.hpp"
#include "cli/finding.hpp"
#include "config/environment.hpp"
#include "daemon/preparation.hpp"
#include "inbox/handler_transaction.hpp"
#include "plugin/plugin.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using Kind = Finding::Kind;

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::good:
      return "ok";
    case Kind::warning:
      return "warning";
    case Kind::problem:
      return "problem";
    case Kind::unreachable:
      return "unreachable";
  }
  return "problem";
}

bool is_good_enough(const Finding& finding) { return finding.kind < Kind::problem; }

Tone tone_of(Kind kind) {
  if (kind == Kind::good) return Tone::good;
  return kind == Kind::warning ? Tone::warning : Tone::bad;
}

/// What was found is shown as it comes: brokers that are not there take their time.
class Report final {
 public:
  explicit Report(Session& session) : session_{session} {}

  void add(const FoundList& findings) {
    for (const Finding& finding : findings) {
      document_.push_back(
          {{"result", name_of(finding.kind)}, {"subject", finding.subject}, {"message", finding.message}});
      worst_ = std::max(worst_, finding.kind);
      if (session_.json) continue;
      const Look& look = session_.output.look;
      session_.output.out << in_tone(name_of(finding.kind), tone_of(finding.kind), look) << "  "
                          << one_line(finding.subject) << ": " << one_line(finding.message) << '\n'
                          << std::flush;
    }
  }

  /// `configuration`: the file itself is wrong.
  ExitCode finish(bool configuration) {
    const bool ok = worst_ < Kind::problem;
    if (session_.json) session_.print({{"ok", ok}, {"findings", document_}});
    if (ok) return ExitCode::done;
    if (configuration) return ExitCode::configuration;
    return worst_ == Kind::unreachable ? ExitCode::unavailable : ExitCode::no;
  }

 private:
  Session& session_;
  admin::Document document_ = admin::Document::array();
  Kind worst_ = Kind::good;
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

ExitCode check(Session& session, const admin::Arguments& arguments) {
  const bool offline = arguments.flag("offline");
  Report report{session};
  const auto loaded = config::load_file(session.config_file, config::process_environment(offline));
  report.add(findings_of(loaded));
  if (!loaded.ok()) return report.finish(true);
  if (offline) return report.finish(false);
  const auto database = check_database(loaded.settings);
  report.add(database);
  report.add(check_plugins(loaded.settings, std::all_of(database.begin(), database.end(), is_good_enough)));
  report.add(check_brokers(loaded.settings));
  return report.finish(false);
}

}  // namespace

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

Command check_command() {
  return {"check",
          "Whether everything is there that the configuration needs: plugins, database, brokers, topics.",
          {{"check", "before the first start, and whenever something does not work"},
           {"check --offline", "the file alone, for instance before it is rolled out"}},
          {{"offline", admin::Parameter::Kind::flag, "only the file: no database, no brokers, no plugins, no secrets"}},
          true,
          check};
}

}  // namespace inboxd::cli
