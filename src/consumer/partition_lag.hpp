#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "consumer/messages.hpp"

namespace inboxd::consumer {

/// The high watermark of an assigned partition, from its fetches or from a query. The client library repeats the value
/// of the last fetch for ever, even if no fetch is answered: the partition is halted, its queue is full because the
/// database is away, or the brokers are. So a value that has not changed for a while is queried, and that of a newly
/// assigned partition at once, so that its lag is known soon. Pure; for the poll thread.
struct HighWatermark {
  using Clock = std::chrono::steady_clock;
  /// The age at which a value is queried, and the interval of queries.
  static constexpr std::chrono::seconds oldest{3};
  static constexpr std::chrono::milliseconds answer_within{5'000};

  std::int64_t offset = -1;  ///< -1: not known yet
  /// When `offset` was certainly right; before that, when the partition was assigned.
  Clock::time_point observed_at{};
  Clock::time_point queried_at = Clock::time_point::min();
  std::int64_t fetched = -1;  ///< the value of the last fetch, repeated by the client library

  bool is_known() const { return offset >= 0; }
  /// At intervals.
  void note_fetch(std::int64_t high, Clock::time_point now) {
    if (high < 0 || high == fetched) return;
    offset = fetched = high;
    observed_at = now;
  }
  /// The answer to the last query. Dropped if a fetch has brought news since, or the partition was assigned again.
  void note_answer(std::int64_t high) {
    if (queried_at <= observed_at) return;
    offset = high;
    observed_at = queried_at;
  }
  bool is_query_due(Clock::time_point now) const {
    if (!is_known() && queried_at < observed_at) return true;
    return now - std::max(observed_at, queried_at) >= oldest;
  }
};

/// The end of an assigned partition's log, which its ingester records for view `lag`. Pure; for the poll thread.
struct PartitionLag {
  using Clock = HighWatermark::Clock;
  static constexpr std::chrono::seconds send_interval{2}, new_age{10};

  HighWatermark high_watermark = {};
  std::optional<std::int64_t> stable_offset = {};  ///< the last stable offset, unless it was sent
  bool is_defined = true;                          ///< as Halted::has_lag
  Clock::time_point assigned_at{}, sent_at{};

  /// The ingester has found the shard: the end is sent at once.
  void found(bool has_lag) {
    is_defined = has_lag;
    sent_at = {};
  }
  bool is_query_due(Clock::time_point now) const { return is_defined && high_watermark.is_query_due(now); }
  /// Newly assigned, and no end sent yet.
  bool is_new(Clock::time_point now) const { return sent_at == Clock::time_point{} && now - assigned_at < new_age; }
  /// The end to send, at intervals.
  std::optional<RecordWatermarks::Mark> due_mark(const kafka::TopicPartition& partition, Clock::time_point now) {
    if (!is_defined || !high_watermark.is_known() || now - sent_at < send_interval) return std::nullopt;
    sent_at = now;
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - high_watermark.observed_at);
    return RecordWatermarks::Mark{partition, high_watermark.offset, std::exchange(stable_offset, std::nullopt), age};
  }
};

}  // namespace inboxd::consumer
