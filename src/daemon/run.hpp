#pragma once
#include <functional>
#include <string>

#include "base/exit_code.hpp"
#include "base/log.hpp"
#include "config/load.hpp"
#include "daemon/status.hpp"

namespace inboxd::daemon {

struct RunOptions {
  bool migrate = false;                        ///< apply migrations first
  /// Stop when every event there was is settled; with 1 where a partition waits for an operator.
  bool until_idle = false;
  std::string config_file;                     ///< read again on SIGHUP
  /// Told, after the last drained call, what the daemon did; not where it never started. On the calling thread.
  std::function<void(const Totals&)> at_end = {};
};

/// The daemon, from start to the last drained call. Blocks; takes the process's signals. What it logs says why it ends.
base::ExitCode run(const config::Loaded& loaded, const RunOptions& options, base::Logger& log);

}  // namespace inboxd::daemon
