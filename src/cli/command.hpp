#pragma once
#include <functional>
#include <string>
#include <vector>

#include "cli/session.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {

/// A row of the command table.
struct Command {
  std::string verb;  ///< `dead replay`
  std::string help;  ///< a sentence
  std::vector<operations::Example> examples;
  std::vector<operations::Parameter> parameters;
  std::function<base::ExitCode(Session&, const operations::Arguments&)> run;
  std::vector<std::string> aliases{};  ///< former verbs: accepted, but not shown in help
  bool reads_shards = false;           ///< takes --shards
};

/// Every command, in the order of the help.
std::vector<Command> commands();

// The commands that are not in the operations table.
Command run_command();
Command check_command();
Command doctor_command();
Command migrate_command();
Command config_show_command();
Command plugin_command();
Command health_command();
Command ui_command();
Command tail_command();
Command verify_command();
Command explain_command();
Command test_command();
Command import_command();
Command init_command();
Command capacity_command();

}  // namespace inboxd::cli
