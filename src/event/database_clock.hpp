#pragma once
#include <atomic>
#include <chrono>

#include "event/now.hpp"

namespace inboxd::event {

/// The database's clock, as its last answer told it; this machine's clock until the first answer. From then on it is
/// never ahead of the database's, and behind it by the time that the answer took, at most. Any thread.
class DatabaseClock final {
 public:
  using Clock = std::chrono::steady_clock;

  /// `read` by the database before this process had the answer.
  void observe(Microseconds read, Clock::time_point answered) { ahead_ = read - since_start(answered); }
  Microseconds now() const { return since_start(Clock::now()) + ahead_; }

 private:
  static Microseconds since_start(Clock::time_point time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
  }
  std::atomic<Microseconds> ahead_{event::now() - since_start(Clock::now())};
};

}  // namespace inboxd::event
