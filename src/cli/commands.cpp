#include <iterator>

#include "cli/command.hpp"
#include "cli/operate.hpp"

namespace inboxd::cli {

std::vector<Command> commands() {
  std::vector<Command> out{run_command(), check_command(), migrate_command()};
  for (auto& family : {operation_commands(), std::vector<Command>{plugin_command()}, config_commands()}) {
    out.insert(out.end(), family.begin(), family.end());
  }
  return out;
}

}  // namespace inboxd::cli
