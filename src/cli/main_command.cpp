#include "cli/main_command.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <utility>

#include "cli/command.hpp"
#include "cli/command_line.hpp"
#include "cli/operation_command.hpp"
#include "cli/shards.hpp"
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

/// The most bytes of a file that is an argument: more than a broker takes by default.
constexpr std::size_t largest_file = 16 << 20;

base::Result<std::string> content_of(const std::string& file) {
  std::ifstream in{file, std::ios::binary};
  std::string out(largest_file + 1, '\0');
  in.read(out.data(), static_cast<std::streamsize>(out.size()));
  if (in.bad() || (in.gcount() == 0 && !in.eof())) return base::Problem{file + " cannot be read"};
  out.resize(static_cast<std::size_t>(in.gcount()));
  if (out.size() > largest_file) return base::Problem{file + " has more than 16 MiB"};
  return out;
}

/// Puts the contents of files in place of their names.
base::Result<operations::Arguments> arguments_of(Parsed parsed) {
  for (const auto& parameter : parsed.command->parameters) {
    const auto given = parsed.given.find(parameter.name);
    if (parameter.kind != operations::Parameter::Kind::bytes || given == parsed.given.end()) continue;
    for (std::string& file : given->second) {
      auto content = content_of(file);
      if (!content) return base::Problem{"--" + parameter.name + ": " + content.problem().message};
      file = std::move(content).value();
    }
  }
  return operations::read_arguments(parsed.command->parameters, parsed.given, event::now());
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
  Session session{output, config_file_of(parsed), parsed.json, parsed.shards_file};
  if (!parsed.shards_file.empty() && !parsed.command->reads_shards) {
    return refuse_shards(session, parsed.command->verb);
  }
  const auto arguments = arguments_of(parsed);
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
  std::vector<Command> out{init_command(), run_command(), check_command(), doctor_command(), migrate_command()};
  for (auto& command : operation_commands()) out.push_back(std::move(command));
  for (auto& command : {verify_command(), explain_command(), test_command(), import_command(), capacity_command(),
                        plugin_command(), health_command(), ui_command(), tail_command(), config_show_command()}) {
    out.push_back(command);
  }
  return out;
}

}  // namespace inboxd::cli
