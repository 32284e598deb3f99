#include <ostream>

#include "cli/ask_daemon.hpp"
#include "cli/command.hpp"
#include "cli/present.hpp"
#include "config/show.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;

/// What is in force in the daemon that runs, which a changed file is not before a reload or a restart.
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

ExitCode show(Session& session, const admin::Arguments& arguments) {
  const auto loaded = session.load();
  if (!loaded) return ExitCode::configuration;
  if (arguments.flag("running")) return show_running(session, loaded->settings);
  for (const auto& warning : loaded->warnings) session.say(warning.text());
  session.output.out << (session.json ? config::show_json(*loaded) : config::show_text(*loaded)) << std::flush;
  return ExitCode::done;
}

}  // namespace

std::vector<Command> config_commands() {
  using Kind = admin::Parameter::Kind;
  return {
      {"config show",
       "Every key with its value and where that comes from; secrets as stars.",
       {{"config show", "what counts, and the line of the file that says so"},
        {"config show --running", "what is in force in the daemon that runs; needs admin.token"}},
       {{"running", Kind::flag, "asks the running daemon over its admin port"}},
       show},
  };
}

}  // namespace inboxd::cli
