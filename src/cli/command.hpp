#pragma once
#include <functional>
#include <string>
#include <vector>

#include "admin/operation.hpp"
#include "cli/session.hpp"

namespace inboxd::cli {

/// One row of the command table.
struct Command {
  std::string verb;                            ///< `dead replay`
  std::string help;                            ///< one sentence
  std::vector<admin::Example> examples;
  std::vector<admin::Parameter> parameters;
  std::function<base::ExitCode(Session&, const admin::Arguments&)> run;
};

/// Every command, in the order in which help lists them.
std::vector<Command> commands();

// The commands that are no operations of floor 4, each family in its file.
Command run_command();
Command check_command();
Command migrate_command();
std::vector<Command> config_commands();
Command plugin_command();
Command health_command();

}  // namespace inboxd::cli
