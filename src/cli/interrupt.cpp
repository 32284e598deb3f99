#include "cli/interrupt.hpp"

#include <pthread.h>

#include <cerrno>
#include <ctime>

namespace inboxd::cli {

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

Interrupt::~Interrupt() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Interrupt::lift() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Interrupt::restore() { pthread_sigmask(SIG_BLOCK, &signals_, nullptr); }

bool Interrupt::wait(std::chrono::milliseconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!came_) {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now());
    const auto rest = left.count() < 0 ? 0 : left.count();
    const timespec time{static_cast<time_t>(rest / 1'000'000'000), static_cast<long>(rest % 1'000'000'000)};
    if (sigtimedwait(&signals_, nullptr, &time) > 0) came_ = true;
    else if (errno != EINTR) break;
  }
  return came_;
}

}  // namespace inboxd::cli
