#pragma once
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "inbox/watchdog.hpp"

namespace inboxd::cli {

/// Ctrl-C or SIGTERM as something to ask for between two steps, while this lives; a step that then takes long has its
/// connection cut off, and a second signal ends the process as it does by itself. Make it before any thread is started:
/// they inherit that the signals are blocked.
class Interrupt final {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Waits so long, or until Ctrl-C or SIGTERM; true from then on.
  bool wait(std::chrono::milliseconds most);

  /// Lets the signals end the process, as they do by themselves, or not. One that has come does so now.
  void lift();
  void restore();

  /// For the connections of what can be interrupted.
  inbox::Watchdog& watchdog() { return watchdog_; }

 private:
  void run();

  const sigset_t signals_;
  const sigset_t before_;
  inbox::Watchdog watchdog_;
  std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  int came_ = 0;  ///< which signal
  bool is_lifted_ = false;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace inboxd::cli
