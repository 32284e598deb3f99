#pragma once
#include <atomic>
#include <chrono>

#include "event/now.hpp"

namespace inboxd::event {

/// The database's clock, as its last answer told it; this machine's clock until the first answer. Any thread.
class DatabaseClock final {
 public:
  using Clock = std::chrono::steady_clock;

  /// `read` by the database between two times of this process. Its error is half of their distance at most.
  void observe(Microseconds read, Clock::time_point asked, Clock::time_point answered) {
    ahead_ = read - since_start(asked + (answered - asked) / 2);
  }
  Microseconds now() const { return since_start(Clock::now()) + ahead_; }

 private:
  static Microseconds since_start(Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  }
  std::atomic<Microseconds> ahead_{event::now() - since_start(Clock::now())};
};

}  // namespace inboxd::event
