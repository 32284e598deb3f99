#pragma once
#include <algorithm>
#include <chrono>
#include <utility>

namespace inboxd::base {

/// Waits that double, from the first to the longest. Not thread-safe.
class Backoff final {
 public:
  using Duration = std::chrono::milliseconds;

  constexpr Backoff(Duration first, Duration longest) : first_{first}, longest_{longest}, next_{first} {}

  /// The wait after a failure.
  constexpr Duration next() { return std::exchange(next_, std::min(next_ * 2, longest_)); }
  /// After a success.
  constexpr void reset() { next_ = first_; }

 private:
  Duration first_;
  Duration longest_;
  Duration next_;
};

}  // namespace inboxd::base
