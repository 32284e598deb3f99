#include "cli/main_command.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <utility>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/operation_command.hpp"
#include "event/now.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;

bool wants_colours() {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return (no_color == nullptr || *no_color == '\0') && terminal != nullptr && std::string_view{terminal} != "dumb";
}

Look look_of(int descriptor) {
  Look out;
  if (::isatty(descriptor) != 1) return out;
  out.colour = wants_colours();
  winsize size{};
  out.width = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  return out;
}

}  // namespace

Output standard_output() {
  Output out{std::cout, std::cerr, look_of(STDOUT_FILENO), look_of(STDERR_FILENO), false, false};
  out.messages_are_seen = out.message_look.width > 0;
  out.can_ask = out.messages_are_seen && ::isatty(STDIN_FILENO) == 1;
  return out;
}

ExitCode main_command(const std::vector<std::string>& words, const Output& output) {
  const auto table = commands();
  const auto outcome = parse(table, words);
  if (const auto* const said = std::get_if<Said>(&outcome)) {
    (said->code == ExitCode::done ? output.out : output.messages) << said->text << std::flush;
    return said->code;
  }
  const auto& parsed = std::get<Parsed>(outcome);
  Session session{output, config_file_of(parsed), parsed.json};
  const auto arguments = operations::read_arguments(parsed.command->parameters, parsed.given, event::now());
  if (!arguments) {
    session.say(parsed.command->verb + ": " + arguments.problem().message + "; see inboxd " + parsed.command->verb +
                " -h");
    return ExitCode::usage;
  }
  const ExitCode code = parsed.command->run(session, arguments.value());
  // A full disk or a closed pipe is not a success.
  if (!output.out.flush() && code == ExitCode::done) {
    session.say("the output could not be written");
    return ExitCode::no;
  }
  return code;
}

std::vector<Command> commands() {
  std::vector<Command> out{run_command(), check_command(), migrate_command()};
  for (auto& command : operation_commands()) out.push_back(std::move(command));
  for (auto& command : {plugin_command(), health_command(), config_show_command()}) out.push_back(command);
  return out;
}

}  // namespace inboxd::cli
