#pragma once
#include <functional>
#include <string>

#include "base/exit_code.hpp"
#include "base/logger.hpp"
#include "config/load.hpp"
#include "daemon/daemon.hpp"

namespace inboxd::daemon {

struct RunOptions {
  bool migrate = false;     ///< apply migrations first
  /// Stop when all events present at the start are settled; with status 1 if a partition needs an operator.
  bool until_idle = false;
  std::string config_file;  ///< for SIGHUP
  /// Called on this thread after the last drained call; not after a failed start.
  std::function<void(const Totals&)> at_end = {};
};

/// Runs the daemon from start to the last drained call. Blocks, and handles the process's signals. The log has the
/// reason of the end.
base::ExitCode run(const config::Loaded& loaded, const RunOptions& options, base::Logger& log);

}  // namespace inboxd::daemon
