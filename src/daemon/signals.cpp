#include "daemon/signals.hpp"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

namespace inboxd::daemon {
namespace {

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

sigset_t ours() { return set_of({SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}); }
sigset_t stops() { return set_of({SIGTERM, SIGINT}); }

/// The signal; -1: none.
int wait_for_one_of(const sigset_t& set, std::chrono::milliseconds most, siginfo_t* from = nullptr) {
  const timespec timeout{most.count() / 1000, (most.count() % 1000) * 1'000'000};
  return sigtimedwait(&set, from, &timeout);
}

std::optional<Request> request_of(int signal) {
  switch (signal) {
    case SIGTERM:
    case SIGINT:
      return Request::stop;
    case SIGHUP:
      return Request::reload;
    case SIGUSR1:
      return Request::pause;
    case SIGUSR2:
      return Request::resume;
    default:
      return std::nullopt;
  }
}

void leave_at_once(int signal) { _exit(128 + signal); }

}  // namespace

void block_signals() {
  const sigset_t set = ours();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

std::optional<Signal> wait_for_signal(std::chrono::milliseconds most) {
  siginfo_t from{};
  const int signal = wait_for_one_of(ours(), most, &from);
  const auto request = request_of(signal);
  if (!request) return std::nullopt;
  // A signal of the kernel, such as a terminal's hangup, has no sender.
  const std::string sender = from.si_code > 0 ? "kernel" : "uid " + std::to_string(from.si_uid);
  return Signal{*request, sender + ", SIG" + sigabbrev_np(signal)};
}

bool wait_for_stop(std::chrono::milliseconds most) { return wait_for_one_of(stops(), most) > 0; }

void let_second_stop_exit() {
  struct sigaction action{};
  action.sa_handler = leave_at_once;
  for (const int signal : {SIGTERM, SIGINT}) sigaction(signal, &action, nullptr);
  const sigset_t set = stops();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace inboxd::daemon
