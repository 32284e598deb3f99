#include <iterator>

#include "cli/command.hpp"
#include "cli/operate.hpp"

namespace inboxd::cli {

std::vector<Command> commands() {
  std::vector<Command> out{run_command(), check_command(), migrate_command()};
  const std::vector<Command> single{plugin_command(), health_command()};
  for (const auto& family : {operation_commands(), single, config_commands()}) {
    out.insert(out.end(), family.begin(), family.end());
  }
  return out;
}

}  // namespace inboxd::cli
