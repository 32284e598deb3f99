#include "daemon/signals.hpp"

#include <signal.h>
#include <unistd.h>

namespace inboxd::daemon {
namespace {

sigset_t ours() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
  return set;
}

void leave_at_once(int signal) { _exit(128 + signal); }

}  // namespace

void block_signals() {
  const sigset_t set = ours();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

std::optional<Request> wait_for_signal(std::chrono::milliseconds most) {
  const sigset_t set = ours();
  const timespec timeout{most.count() / 1000, (most.count() % 1000) * 1'000'000};
  switch (sigtimedwait(&set, nullptr, &timeout)) {
    case SIGTERM:
    case SIGINT: return Request::stop;
    case SIGHUP: return Request::reload;
    case SIGUSR1: return Request::pause;
    case SIGUSR2: return Request::resume;
    default: return std::nullopt;
  }
}

void let_second_stop_exit() {
  struct sigaction action{};
  action.sa_handler = leave_at_once;
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT}) {
    sigaction(signal, &action, nullptr);
    sigaddset(&set, signal);
  }
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace inboxd::daemon
