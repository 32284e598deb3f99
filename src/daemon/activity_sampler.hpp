#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>

#include "inbox/handler_activity.hpp"
#include "queue/in_flight.hpp"
#include "settler/outcomes.hpp"

namespace inboxd::daemon {

/// The figures of a handler at one moment; counts are since the start of the process.
struct ActivitySample {
  dispatcher::Stats stats;
  settler::OutcomeCounts::Handler outcomes;
  std::optional<std::int64_t> pending;  ///< in the database, as last counted
};

/// Makes the figures of the last minutes out of counts. Not thread-safe; no clock.
class ActivitySampler final {
 public:
  using Clock = std::chrono::steady_clock;
  /// The most time that the counts and the growth of the backlog cover.
  static constexpr std::chrono::seconds span{180};
  static constexpr std::chrono::seconds growth_span{60};
  static constexpr std::chrono::seconds between_samples{5};

  inbox::HandlerActivity sample(std::int32_t handler_id, const ActivitySample& now, Clock::time_point at);

 private:
  struct Point {
    Clock::time_point at;
    std::uint64_t done = 0;
    std::uint64_t failed = 0;
    std::uint64_t calls = 0;
    double call_seconds = 0;
    std::optional<std::int64_t> pending;
  };
  std::map<std::int32_t, std::deque<Point>> points_;
};

}  // namespace inboxd::daemon
