#pragma once
#include <chrono>
#include <cstdint>

namespace inboxd::consumer {

/// The end of an assigned partition (its high watermark), as the brokers last told it: with each fetch, or when asked.
/// A partition that is not fetched hears nothing of it: one that stands still or is being looked up, and one whose
/// ingester's queue is full because the database is away. Its lag would stop just when somebody looks at it, so the
/// brokers are asked; nothing is asked for partitions that are fetched.
struct LogEnd {
  using Clock = std::chrono::steady_clock;
  /// How old it may become before the brokers are asked, and how long until they are asked again.
  static constexpr std::chrono::seconds oldest{10};
  static constexpr std::chrono::milliseconds answer_within{5'000};

  std::int64_t high = -1;  ///< -1: nothing was told yet
  /// When `high` was right for certain; before that, when the partition was assigned.
  Clock::time_point right_at{};
  Clock::time_point asked_at = Clock::time_point::min();
  /// What the last fetch told, which the client library goes on saying for ever.
  std::int64_t fetched = -1;

  /// At intervals. `is_fetched`: a fetch is under way that is answered when something comes.
  void note_fetch(std::int64_t told, bool is_fetched, Clock::time_point now);
  /// Of the last question; dropped where a fetch has told something since, or the partition was assigned anew.
  void note_answer(std::int64_t told);
  bool is_due(Clock::time_point now) const;
};

}  // namespace inboxd::consumer
