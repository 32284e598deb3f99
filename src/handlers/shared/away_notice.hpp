#pragma once
#include <chrono>

#include "../../base/mutex.hpp"

namespace handlers {

/// Says in the log once that a service or program is away, and once that it is back. Any thread.
class AwayNotice final {
 public:
  /// True: to be logged. An absence soon after another is not.
  bool begins() {
    const inboxd::base::Lock lock{mutex_};
    const auto now = std::chrono::steady_clock::now();
    if (is_logged_ || now < next_) return false;
    is_logged_ = true;
    next_ = now + quiet;
    return true;
  }
  /// True: to be logged, because its beginning was.
  bool ends() {
    const inboxd::base::Lock lock{mutex_};
    const bool was_logged = is_logged_;
    is_logged_ = false;
    return was_logged;
  }

 private:
  static constexpr std::chrono::seconds quiet{10};

  inboxd::base::Mutex mutex_;
  bool is_logged_ GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point next_ GUARDED_BY(mutex_){};
};

}  // namespace handlers
