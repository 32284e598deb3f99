#include <algorithm>
#include <array>
#include <chrono>
#include <ostream>
#include <utility>

#include "cli/ask_daemon.hpp"
#include "cli/checks.hpp"
#include "cli/command.hpp"
#include "cli/terminal_text.hpp"
#include "config/handler_connection.hpp"
#include "daemon/load_configuration.hpp"
#include "daemon/prepare_handlers.hpp"
#include "operations/check.hpp"
#include "plugin/loader.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;
using operations::Finding;
using operations::FoundList;

/// For one question to the brokers.
constexpr std::chrono::milliseconds patience{10'000};

constexpr std::array<std::string_view, 5> shipped{"sql", "http", "kafka", "exec", "log"};

Tone tone_of(Finding::Kind kind) {
  if (kind == Finding::Kind::good) return Tone::good;
  return kind == Finding::Kind::warning ? Tone::warning : Tone::bad;
}

Finding::Kind kind_of(const std::string& name) {
  using Kind = Finding::Kind;
  for (const Kind kind : {Kind::good, Kind::warning, Kind::problem, Kind::refused}) {
    if (name == operations::name_of(kind)) return kind;
  }
  return Finding::Kind::unreachable;
}

/// Prints findings as they come: the check of unreachable brokers takes seconds.
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

  /// `configuration`: a problem is a mistake in the file.
  ExitCode finish(bool configuration) {
    if (session_.json) session_.print(document_of(all_));
    const ExitCode verdict = verdict_on(all_);
    return configuration && verdict != ExitCode::done ? ExitCode::configuration : verdict;
  }

 private:
  Session& session_;
  FoundList all_;
};

/// Offline, secrets are empty texts, which a plugin may refuse. A refusal that names another setting holds.
bool may_lack_secret(const config::Handler& handler, const std::string& refusal) {
  bool has_empty = false;
  for (const auto& [name, value] : handler.settings) {
    const bool is_empty = value.empty() || value.find("\"\"") != std::string::npos;
    const bool is_named = refusal.find("setting '" + name + "'") != std::string::npos;
    if (is_named) return is_empty;
    has_empty = has_empty || is_empty;
  }
  return has_empty && refusal.find("unknown setting") == std::string::npos;
}

/// The names of shipped plugins, and their settings. Files of other plugins may be elsewhere.
FoundList check_plugins_offline(const config::Loaded& file) {
  FoundList out;
  plugin::Loader plugins;
  auto log = command_log();
  for (std::size_t i = 0; i < file.settings.handlers.size(); ++i) {
    const config::Handler& handler = file.settings.handlers[i];
    if (handler.plugin.find('/') != std::string::npos) continue;
    const std::string subject = "handler " + handler.name;
    const daemon::RecordingDescriber nowhere{nullptr};
    const auto place = daemon::place_of_refusal(file, i, nowhere);
    if (const auto description = plugins.inspect(handler.plugin); !description) {
      const bool is_shipped = std::find(shipped.begin(), shipped.end(), handler.plugin) != shipped.end();
      if (!is_shipped) out.push_back({Finding::Kind::problem, subject, place + ": " + description.problem().message});
      continue;  // a shipped plugin is not installed beside this program
    }
    const auto instance = plugins.load(config::with_connection(handler, file.settings.kafka), log);
    if (instance || may_lack_secret(handler, instance.problem().message)) continue;
    out.push_back({Finding::Kind::problem, subject, place + ": " + instance.problem().message});
  }
  return out;
}

/// Asks the running daemon, which checks with its own file, network and rights.
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

ExitCode check(Session& session, const operations::Arguments& arguments) {
  const bool offline = arguments.flag("offline");
  if (offline && arguments.flag("running")) {
    session.say("check: pass --offline or --running, not both");
    return ExitCode::usage;
  }
  if (arguments.flag("running")) return check_running(session);
  Report report{session};
  const auto loaded = daemon::load_configuration(session.config_file, offline);
  report.add(check_file(loaded));
  if (!loaded.ok()) return report.finish(true);
  if (offline) {
    report.add(check_plugins_offline(loaded));
    return report.finish(true);
  }
  auto unprepared = loaded.settings.database;
  unprepared.prepare = false;
  auto log = command_log();
  inbox::Watchdog watchdog;
  inbox::Connection first{unprepared, "check", watchdog, log};
  inbox::Connection second{unprepared, "check", watchdog, log};
  check_all(loaded, first, second, patience, [&](FoundList findings) { report.add(std::move(findings)); });
  return report.finish(false);
}

/// A word with a slash or the ending .so is a file, anything else a shipped handler's name.
std::string as_plugin(const std::string& file) {
  const bool is_file = file.find('/') != std::string::npos || file.ends_with(".so");
  return is_file && file.find('/') == std::string::npos ? "./" + file : file;
}

ExitCode check_plugin(Session& session, const operations::Arguments& arguments) {
  plugin::Loader plugins;
  const auto description = plugins.inspect(as_plugin(*arguments.text("file")));
  if (!description) {
    if (session.json) session.print({{"ok", false}, {"problem", description.problem().message}});
    session.say("plugin check: " + description.problem().message);
    return ExitCode::no;
  }
  const auto& plugin = description.value();
  const std::string abi = std::to_string(plugin.abi_major) + "." + std::to_string(plugin.abi_minor);
  if (session.json) {
    operations::Document remarks = operations::Document::array();
    for (const auto& [level, text] : plugin.remarks) {
      remarks.push_back({{"level", base::name_of(level)}, {"text", text}});
    }
    session.print({{"ok", true},
                   {"path", plugin.path},
                   {"name", plugin.name},
                   {"version", plugin.version},
                   {"abi", abi},
                   {"extensions", plugin.extensions},
                   {"remarks", std::move(remarks)}});
    return ExitCode::done;
  }
  std::string extensions;
  for (const auto& name : plugin.extensions) extensions += (extensions.empty() ? "" : ", ") + name;
  Sheet sheet;
  sheet.add("plugin", plugin.name + " " + plugin.version, Tone::good);
  sheet.add("file", plugin.path);
  sheet.add("ABI", abi);
  sheet.add("extensions", extensions);
  for (const auto& remark : plugin.remarks) {
    sheet.add("remark", remark.text, remark.level < base::LogLevel::warn ? Tone::plain : Tone::warning);
  }
  session.output.out << sheet.text(session.output.look) << std::flush;
  return ExitCode::done;
}

}  // namespace

Command check_command() {
  return {"check",
          "Checks the configuration, and the plugins, database, brokers and topics that it needs.",
          {{"check", "before the first start, and when something fails"},
           {"check --offline", "the file alone, for example before a roll-out"},
           {"check --running", "database, brokers and topics as the running daemon sees them; needs a token"}},
          {{"offline", operations::Parameter::Kind::flag,
            "only the file, and the settings of shipped plugins: no database, brokers or secrets"},
           {"running", operations::Parameter::Kind::flag,
            "ask the running daemon over its admin port; leaves out plugins, which it has loaded"}},
          check};
}

Command plugin_command() {
  return {"plugin check",
          "Loads a plugin and reports its version, extensions and problems.",
          {{"plugin check ./receipt.so", "a handler of your own"}, {"plugin check log", "a shipped handler"}},
          {{"file", operations::Parameter::Kind::text, "the shared object, or a shipped handler's name", "FILE",
            operations::Parameter::Place::word}},
          check_plugin};
}

}  // namespace inboxd::cli
