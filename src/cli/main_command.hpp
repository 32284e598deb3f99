#pragma once
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "cli/session.hpp"

namespace inboxd::cli {

/// Runs the command that the words behind the program's name ask for. Exceptions that come out are bugs.
base::ExitCode main_command(const std::vector<std::string>& words, const Output& output);

/// stdout and stderr of this process as they are: terminals or not, with colours unless NO_COLOR says otherwise.
Output standard_output();

}  // namespace inboxd::cli
