#pragma once
#include <sys/types.h>

#include <set>
#include <vector>

#include "../../base/mutex.hpp"

namespace exec_handler {

/// The children of this process that the handler is responsible for: the programs that it starts, and their orphans,
/// whose parent this process becomes. A single object for all handlers, because the kernel has a single list. Any
/// thread.
class ChildProcesses final {
 public:
  static ChildProcesses& all();

  /// `start` starts a program and returns its id, 0 or less if it cannot. Orphans are not reaped meanwhile.
  template <class Start>
  pid_t start(Start start) {
    const inboxd::base::Lock lock{mutex_};
    const pid_t program = start();
    if (program > 0) programs_.insert(program);
    return program;
  }
  /// Waits for the end of a started program and takes its status, as of waitpid.
  int take_status(pid_t program);
  /// Reaps the orphans that have ended, and returns the others. Leaves alone programs that were started here, and
  /// processes in the daemon's own group: other code may have started such a process, and wants its status.
  std::vector<pid_t> reap_orphans();

 private:
  ChildProcesses() = default;

  inboxd::base::Mutex mutex_;  // also guards the numbers of ended children against reuse
  std::set<pid_t> programs_ GUARDED_BY(mutex_);
};

}  // namespace exec_handler
