#pragma once
#include <chrono>

#include "base/mutex.hpp"

namespace inboxd::base {

/// Wakes a thread that sleeps until a time. A signal that comes while the thread is awake is not lost.
class WakeSignal final {
 public:
  using Clock = std::chrono::steady_clock;

  void notify() {
    const Lock lock{mutex_};
    if (is_set_) return;
    is_set_ = true;
    changed_.notify_all();
  }
  void wait_until(Clock::time_point until) {
    Lock lock{mutex_};
    changed_.wait_until(lock, until, [this]() REQUIRES(mutex_) { return is_set_; });
    is_set_ = false;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool is_set_ GUARDED_BY(mutex_) = false;
};

}  // namespace inboxd::base
