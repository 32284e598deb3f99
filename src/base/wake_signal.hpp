#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>

namespace inboxd::base {

/// Wakes one thread that sleeps until a time. A signal that comes while the thread is awake is not lost.
class WakeSignal final {
 public:
  using Clock = std::chrono::steady_clock;

  void notify() {
    const std::lock_guard lock{mutex_};
    if (is_set_) return;
    is_set_ = true;
    changed_.notify_all();
  }
  void wait_until(Clock::time_point until) {
    std::unique_lock lock{mutex_};
    changed_.wait_until(lock, until, [this] { return is_set_; });
    is_set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

}  // namespace inboxd::base
