#pragma once
#include <chrono>
#include <optional>
#include <string>

namespace inboxd::daemon {

/// What an operator asks for by a signal.
enum class Request { stop, reload, pause, resume };

struct Signal {
  Request request = Request::stop;
  std::string sender;  ///< for the audit: `uid 1000, SIGUSR1`
};

/// Keeps the signals from the threads that are started after this: they are waited for instead. Call first.
void block_signals();

/// Waits for a signal at most that long.
std::optional<Signal> wait_for_signal(std::chrono::milliseconds most);

/// The same for SIGTERM and SIGINT alone; what else is asked meanwhile is heard later. Whether one came.
bool wait_for_stop(std::chrono::milliseconds most);

/// From now on a second SIGTERM or SIGINT ends the process at once.
void let_second_stop_exit();

}  // namespace inboxd::daemon
