#pragma once
#include <chrono>
#include <csignal>

namespace inboxd::cli {

/// Ctrl-C as something to ask for between two steps, while this lives. Make it before any thread is started: they
/// inherit that the signals are blocked.
class Interrupt final {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Waits so long, or until Ctrl-C or SIGTERM; true from then on.
  bool wait(std::chrono::milliseconds most);

  /// Lets the signals end the process, as they do by themselves, or not.
  void lift();
  void restore();

 private:
  sigset_t signals_;
  sigset_t before_;
  bool came_ = false;
};

}  // namespace inboxd::cli
