#pragma once
#include <chrono>
#include <csignal>
#include <thread>

#include "base/mutex.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::cli {

/// Turns Ctrl-C and SIGTERM into a state to ask for between two steps. A step that then takes too long loses its
/// connection. A second signal ends the process. Construct it before any thread starts, because threads inherit the
/// blocked signals.
class Interrupt final {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Waits until Ctrl-C or SIGTERM, for `most` at most; true once a signal has come.
  bool wait(std::chrono::milliseconds most);

  /// Lets signals end the process, also a signal that has come already.
  void lift();
  /// Undoes lift().
  void restore();

  /// For the connections of interruptible steps.
  inbox::Watchdog& watchdog() { return watchdog_; }

 private:
  void run();

  const sigset_t signals_;
  const sigset_t before_;
  inbox::Watchdog watchdog_;
  base::Mutex mutex_;
  base::Condition changed_;
  int came_ GUARDED_BY(mutex_) = 0;  ///< the signal; 0: none yet
  bool is_lifted_ GUARDED_BY(mutex_) = false;
  bool is_over_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace inboxd::cli
