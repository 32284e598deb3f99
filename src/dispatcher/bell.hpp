#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace inboxd::dispatcher {

/// Wakes one thread that sleeps until a time. A ring while it is awake is not lost.
class Bell final {
 public:
  using Clock = std::chrono::steady_clock;

  void ring() {
    const std::lock_guard lock{mutex_};
    if (rung_) return;
    rung_ = true;
    changed_.notify_all();
  }
  void wait_until(Clock::time_point until) {
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, until, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

}  // namespace inboxd::dispatcher
