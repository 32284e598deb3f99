#pragma once
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "cli/session.hpp"

namespace inboxd::cli {

/// Runs the command in the words after the program's name. Exceptions that leave it are bugs.
base::ExitCode main_command(const std::vector<std::string>& words, const Output& output);

/// stdout and stderr of this process, with the width and colours of their terminals. NO_COLOR turns colours off.
Output standard_output();

}  // namespace inboxd::cli
