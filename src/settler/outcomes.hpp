#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/histogram.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "inbox/settle.hpp"
#include "settler/run.hpp"
#include "settler/settlement.hpp"

/// Recorded outcomes as operators see them: metrics and log lines.
namespace inboxd::settler {

/// Outcomes by handler since the start, for metrics. Written once for each settlement. Any thread.
class OutcomeCounts final {
 public:
  struct Handler {
    std::uint64_t done = 0;
    std::uint64_t retried = 0;
    std::uint64_t dead = 0;
    std::uint64_t expired = 0;
    std::uint64_t skipped = 0;
    std::uint64_t leases_lost = 0;
    std::uint64_t failed_in_row = 0;  ///< attempts since the last success
    std::optional<std::chrono::steady_clock::time_point> failing_since;  ///< the first of these
    std::string last_error_class;  ///< of the last failure: no message, which may quote the event
    std::string last_failed_event;  ///< its event id
    std::map<std::string, std::uint64_t> failures;  ///< by error class; `other` beyond the first hundred classes
    base::Histogram::Snapshot end_to_end;           ///< seconds from the record's time in Kafka to `done` recorded
  };

  void recorded(const Run& run, const inbox::Settlement& settlement, const EventCounts& counts);
  void lease_lost(std::int32_t handler_id);

  std::map<std::int32_t, Handler> all() const;

 private:
  struct Entry {
    void note_success_or_failure(const inbox::Settlement& settlement, const EventCounts& events);

    Handler counts;
    base::Histogram end_to_end{0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1'800, 14'400, 86'400};
  };
  Entry& entry(std::int32_t handler_id) REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::map<std::int32_t, std::unique_ptr<Entry>> entries_ GUARDED_BY(mutex_);
};

/// Logs dead events (warnings) and retries (debug) with id, handler, place, key and error, never a payload. The first
/// failed attempt of a handler and class within a minute is a warning. Bounded by `max_lines`; the number of lines
/// left out follows a second later. Any thread.
class FailureLog final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t max_lines = 20;  ///< a second, for dead events and for retries each
  static constexpr std::chrono::minutes sample_interval{1};
  static constexpr std::size_t max_samples = 1'000;  ///< handlers and classes that are told apart

  explicit FailureLog(base::Logger& log) : log_{log} {}

  void recorded(const Run& run, const inbox::Settlement& settlement, Clock::time_point now);

 private:
  /// Lines of a kind within the current second.
  struct Second {
    std::uint64_t lines = 0;
    std::uint64_t left_out = 0;
    /// Whether another line is allowed; counts the line either way.
    bool take();
  };
  void begin_second(Clock::time_point now) REQUIRES(mutex_);
  /// The first of its handler and class within a minute.
  bool is_first(const Run& run, const std::string& error_class, Clock::time_point now) REQUIRES(mutex_);

  base::Logger& log_;

  base::Mutex mutex_;
  Clock::time_point since_ GUARDED_BY(mutex_){};
  Second dead_ GUARDED_BY(mutex_);
  Second retried_ GUARDED_BY(mutex_);
  std::map<std::pair<std::int32_t, std::string>, Clock::time_point> sampled_
      GUARDED_BY(mutex_);  ///< by handler and class
};

}  // namespace inboxd::settler
