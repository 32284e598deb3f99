#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/repeats.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"
#include "maintenance/turn.hpp"

namespace inboxd::maintenance {

/// Deletes data past its retention, in batches. Each task is a turn on the maintenance thread.
class Cleanup final {
 public:
  Cleanup(const config::Settings& settings, inbox::Connection& connection, Turn& turn, base::Logger& log)
      : connection_{connection}, turn_{turn}, log_{log}, retention_{settings.retention}, topics_{settings.topics} {}

  /// Old days of events, outcomes and failures; old dead letters and quarantined records.
  void purge();
  /// Events past the retention of their topic, and settled events that were kept when their day was dropped.
  void trim_events();
  /// Superseded positions.
  void trim_positions();

  /// The limits of dead letters and quarantine in bytes: warns from 80 % on. At the limit, pauses the handlers with new
  /// dead letters.
  void check_limits();
  /// What is nearly full, in a sentence with the remedy.
  const std::optional<std::string>& full() const { return full_; }
  /// At the limit: records for quarantine halt their partitions.
  bool quarantine_is_full() const { return quarantine_is_full_; }

  /// From a reload. Any thread.
  void set_retention(const config::Settings& settings);

 private:
  using Clock = std::chrono::steady_clock;

  /// Events of a shard to delete: from an offset on, received before a time.
  struct Walk {
    std::int32_t shard_id;
    event::Microseconds before;
    std::int64_t next = 0;
  };

  void plan_walks();
  void drop_days(const char* table, std::chrono::milliseconds keep);
  void warn_of_kept_day(std::chrono::milliseconds keep);
  config::Retention retention() const;
  config::Topics topics() const;

  inbox::Connection& connection_;
  Turn& turn_;
  base::Logger& log_;
  Clock::time_point next_kept_day_warning_{};
  std::vector<Walk> walks_;          ///< of trim_events, still to make
  std::int64_t trimmed_events_ = 0;  ///< not logged yet
  std::optional<std::string> full_;
  bool quarantine_is_full_ = false;
  base::Repeats full_log_{std::chrono::hours{1}};
  std::atomic<bool> is_new_{false};  ///< the retention
  mutable base::Mutex mutex_;
  config::Retention retention_ GUARDED_BY(mutex_);
  std::vector<config::Topic> topics_ GUARDED_BY(mutex_);
};

}  // namespace inboxd::maintenance
