#include "package/support/machine.hpp"

#include <stdexcept>

#include "package/support/packages.hpp"

namespace inboxd::support {
namespace {

constexpr milliseconds long_patience{300'000};

std::string without_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string base_with(const std::vector<std::string>& packages) {
  std::vector<std::string> command{source_file("config/setup/chroot"), "this", "systemd", "procps"};
  command.insert(command.end(), packages.begin(), packages.end());
  return without_end(support::must(command, long_patience));
}

}  // namespace

Machine::Machine(const std::vector<std::string>& packages) {
  const auto console = folder_ / "console";
  process_ = std::make_unique<Process>(
      Command{.arguments = {source_file("tests/package/support/machine"), "boot", folder_.path(), base_with(packages)},
              .out = console,
              .err = console});
  wait_until(
      "the machine has booted",
      [&] {
        if (!process_->is_running()) throw std::runtime_error{"the machine did not boot:\n" + read_file(console)};
        const std::string state = run({"systemctl", "is-system-running"}).out;
        return state == "running\n" || state == "degraded\n";
      },
      milliseconds{60'000}, [&] { return read_file(console); });
}

Finished Machine::run(const std::vector<std::string>& command, milliseconds within) {
  std::vector<std::string> arguments{source_file("tests/package/support/machine"), "run", folder_.path()};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return run_to_end({.arguments = arguments}, within);
}

std::string Machine::must(const std::vector<std::string>& command, milliseconds within) {
  const Finished finished = run(command, within);
  if (finished.status == ExitStatus{0, 0}) return without_end(finished.out);
  std::string text;
  for (const std::string& argument : command) text += argument + " ";
  throw std::runtime_error{"in the machine: " + text + "ended with " + std::to_string(finished.status.code) + ":\n" +
                           finished.out + finished.err};
}

std::string Machine::property(const std::string& unit, const std::string& name) {
  return must({"systemctl", "show", "--property", name, "--value", unit});
}

std::string Machine::journal(const std::string& unit) {
  return must({"journalctl", "--no-pager", "--output", "cat", "--unit", unit});
}

}  // namespace inboxd::support
