#include "cli/interrupt.hpp"

#include <pthread.h>
#include <unistd.h>

#include "base/mutex.hpp"

namespace inboxd::cli {
namespace {

/// The time for the running step to end by itself.
constexpr std::chrono::seconds time_to_end{2};

sigset_t endings() {
  sigset_t out;
  sigemptyset(&out);
  sigaddset(&out, SIGINT);
  sigaddset(&out, SIGTERM);
  return out;
}

/// Blocks the signals; returns the mask before.
sigset_t block(const sigset_t& signals) {
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  return before;
}

}  // namespace

Interrupt::Interrupt() : signals_{endings()}, before_{block(signals_)}, thread_{[this] { run(); }} {
  pthread_setname_np(thread_.native_handle(), "signals");
}

Interrupt::~Interrupt() {
  {
    const base::Lock lock{mutex_};
    is_over_ = true;
    if (came_ == 0) pthread_kill(thread_.native_handle(), SIGTERM);  // ends its sigwait()
  }
  changed_.notify_all();
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::lift() {
  const base::Lock lock{mutex_};
  is_lifted_ = true;
  if (came_ != 0) ::kill(::getpid(), came_);  // not blocked any more in the signal thread
}

void Interrupt::restore() {
  const base::Lock lock{mutex_};
  is_lifted_ = false;
}

bool Interrupt::wait(std::chrono::milliseconds most) {
  base::Lock lock{mutex_};
  return changed_.wait_for(lock, most, [this]() REQUIRES(mutex_) { return came_ != 0; });
}

/// Runs in a thread of its own, because the main thread may be waiting for the database.
void Interrupt::run() {
  int signal = 0;
  sigwait(&signals_, &signal);
  base::Lock lock{mutex_};
  if (is_over_) return;
  came_ = signal;
  watchdog_.cut_all(std::chrono::steady_clock::now() + time_to_end);
  changed_.notify_all();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  if (is_lifted_) raise(signal);
  changed_.wait(lock, [this]() REQUIRES(mutex_) { return is_over_; });
}

}  // namespace inboxd::cli
