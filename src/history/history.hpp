#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.hpp"
#include "base/mutex.hpp"
#include "history/merge.hpp"
#include "history/ring.hpp"

namespace inboxd::history {

/// Counts are since the start of the process, and of this process; values of the database are of all instances.
struct TopicSample {
  std::uint64_t received = 0;
  std::uint64_t quarantined = 0;
  /// Positions and ends of the logs of all partitions, added up; nullopt: of one it is unknown.
  struct Place {
    std::int64_t position = 0;
    std::int64_t end = 0;
  };
  std::optional<Place> place{};
};
struct HandlerSample {
  std::uint64_t done = 0;
  std::uint64_t failed = 0;
  std::map<std::string, std::uint64_t> failures;  ///< by error class
  base::Histogram::Snapshot calls;                ///< seconds
  std::int64_t running_calls = 0;
  std::int64_t allowed = 0;
  std::int64_t blocked_keys = 0;
  std::optional<std::int64_t> waiting;  ///< pending, in the database
  std::optional<std::int64_t> dead;     ///< in the database
};
struct Sample {
  std::map<std::string, TopicSample> topics;
  std::map<std::string, HandlerSample> handlers;
};

/// The figures of the last 24 hours in a fixed amount of memory: an hour in steps of 10 s, a day in steps of 5 min.
/// Steps follow the wall clock, so that those of several instances are the same; rates follow the steady clock. Steps
/// without a sample are unknown. Any thread.
class History final {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t max_marks = 200;
  static constexpr std::size_t max_mark_bytes = 300;

  /// Whether a step of 10 s has ended since the last sample. `wall`: seconds since 1970.
  bool is_due(std::int64_t wall) const;
  /// The figures at the end of a step, which ended just now.
  void record(Sample sample, std::int64_t wall, Clock::time_point now);
  /// The last step of a day may not have ended yet.
  View view(Span span) const;

  /// The last hour for this instance's row, if a minute has ended since the last call; see packed.hpp.
  std::optional<std::string> take_minutes();
  /// Steps of the day have ended that lack other instances' figures, which these have written by now.
  bool wants_peers() const;
  /// Adds other instances to these steps.
  void add_peers(const std::vector<Peer>& peers);

  /// Keeps the newest `max_marks`.
  void note(Mark mark);
  std::vector<Mark> marks() const;
  std::size_t bytes() const;

 private:
  struct Last {
    Sample sample;
    std::int64_t step = 0;  ///< that runs
    Clock::time_point at{};
  };
  using Ends = std::deque<std::pair<std::int64_t, std::int64_t>>;  ///< wall clock and end, oldest first

  void put_topic(const std::string& name, const TopicSample& now, std::int64_t wall, double seconds) REQUIRES(mutex_);
  void put_lag(Track& track, Ends& ends, const TopicSample::Place& place, std::int64_t wall) REQUIRES(mutex_);
  void put_handler(const std::string& name, const HandlerSample& now, double seconds) REQUIRES(mutex_);
  void put_failures(Track& track, const HandlerSample& now, const HandlerSample& before) REQUIRES(mutex_);
  /// Makes the newest step of the day out of the hour's steps.
  void update_day() REQUIRES(mutex_);
  /// The end of the last step of the day that other instances have written, too.
  std::int64_t written_until() const REQUIRES(mutex_);
  void put_back(const View& merged, std::int64_t from, std::int64_t until) REQUIRES(mutex_);
  Values part_of_hour(const Values& values) const REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::optional<Last> last_ GUARDED_BY(mutex_);
  std::map<std::string, Ends> ends_ GUARDED_BY(mutex_);
  Ring hour_ GUARDED_BY(mutex_){hour_step, hour_steps};
  Ring day_ GUARDED_BY(mutex_){day_step, day_steps};
  std::int64_t merged_until_ GUARDED_BY(mutex_) = 0;
  std::int64_t packed_until_ GUARDED_BY(mutex_) = 0;
  std::deque<Mark> marks_ GUARDED_BY(mutex_);
};

/// A quantile of calls in milliseconds, as far as their buckets tell; unknown without calls. Pure.
float quantile_ms(const base::Histogram::Snapshot& now, const base::Histogram::Snapshot& before, double quantile);

}  // namespace inboxd::history
