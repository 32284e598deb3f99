#pragma once
#include <atomic>
#include <chrono>

#include "base/mutex.hpp"

namespace inboxd::base {

/// Tells a loop to end, and ends its wait. Any thread requests; the loop's thread waits.
class StopSignal final {
 public:
  using Clock = std::chrono::steady_clock;

  void request() {
    {
      const Lock lock{mutex_};
      requested_ = true;
    }
    changed_.notify_all();
  }
  bool is_requested() const { return requested_; }

  /// Returns true, early, if a stop is requested.
  bool wait_for(Clock::duration time) { return wait_until(Clock::now() + time); }
  bool wait_until(Clock::time_point time) {
    Lock lock{mutex_};
    return changed_.wait_until(lock, time, [this] { return requested_.load(); });
  }

 private:
  std::atomic<bool> requested_{false};
  Mutex mutex_;
  Condition changed_;
};

}  // namespace inboxd::base
