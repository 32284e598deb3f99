#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "base/histogram.hpp"
#include "queue/missing_sessions.hpp"
#include "transaction/body_watch.hpp"

namespace inboxd::dispatcher {

/// The verdicts of a call that has ended, without interrupted events.
struct CallCount {
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::string error_class;  ///< of the last failure
};

/// Figures of a handler's calls. They outlive a worker pool, so a reload does not reset them. Any thread.
struct CallFigures {
  base::Histogram seconds{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300};
  std::atomic<std::uint64_t> repeated{0};   ///< transactions repeated, uncharged
  std::atomic<std::uint64_t> deadlines{0};  ///< calls given up after their deadline
  std::atomic<int> abandoned{0};            ///< threads in calls that were given up
  transaction::BodyWatch bodies;
  MissingSessions missing_sessions;
};

}  // namespace inboxd::dispatcher
