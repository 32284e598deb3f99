#pragma once
#include <chrono>
#include <optional>
#include <string>

namespace inboxd::daemon {

/// An operator's request by signal.
enum class Request { stop, reload, pause, resume };

struct Signal {
  Request request = Request::stop;
  std::string sender;  ///< for the audit: `uid 1000, SIGUSR1`
};

/// Blocks the signals in this thread and in all threads started after it. Call first.
void block_signals();

/// Waits for a signal, at most `most`.
std::optional<Signal> wait_for_signal(std::chrono::milliseconds most);

/// Waits for SIGTERM or SIGINT; other signals stay pending. True: a signal came.
bool wait_for_stop(std::chrono::milliseconds most);

/// From now on SIGTERM and SIGINT end the process at once.
void let_second_stop_exit();

}  // namespace inboxd::daemon
