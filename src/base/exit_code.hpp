#pragma once

namespace inboxd::base {

/// The exit statuses of every command (from sysexits.h where a constant fits).
enum class ExitCode : int {
  done = 0,
  no = 1,            ///< the command's own "no": problems found, or nothing matched
  usage = 64,
  unavailable = 69,  ///< database or brokers not reached
  bug = 70,
  try_again = 75,
  not_allowed = 77,
  configuration = 78,
};

}  // namespace inboxd::base
