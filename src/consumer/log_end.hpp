#pragma once
#include <chrono>
#include <cstdint>

namespace inboxd::consumer {

/// The end of an assigned partition (its high watermark), as the brokers last told it: with each fetch, or when asked.
/// A partition that is not fetched hears nothing of it: one that stands still or is being looked up, and one whose
/// ingester's queue is full because the database is away. Its lag would stop just when somebody looks at it, so the
/// brokers are asked. Of partitions that are fetched, too, but rarely: the client library may have lost the word to
/// read on, and says nothing of it. Then the brokers have more than any fetch tells.
struct LogEnd {
  using Clock = std::chrono::steady_clock;
  struct Pace {
    /// How old it may become before the brokers are asked, and how long until they are asked again.
    std::chrono::milliseconds oldest{10'000};
    /// The same for a partition that is fetched, of which no fetch has told anything new.
    std::chrono::milliseconds quiet{60'000};
    /// How long after the question a fetch must have told what the brokers answered.
    std::chrono::milliseconds told_within{10'000};
  };
  static constexpr std::chrono::milliseconds answer_within{5'000};

  std::int64_t high = -1;  ///< -1: nothing was told yet
  /// When `high` was right for certain; before that, when the partition was assigned.
  Clock::time_point right_at{};
  Clock::time_point asked_at = Clock::time_point::min();
  /// What the last fetch told, which the client library goes on saying for ever.
  std::int64_t fetched = -1;
  Clock::time_point news_at{};  ///< when that was new, or the partition was assigned
  std::int64_t answered = -1;   ///< what the brokers last answered; -1: nothing that is still to be compared

  static LogEnd begun(Clock::time_point now);
  /// At intervals. `is_fetched`: a fetch is under way that is answered when something comes.
  void note_fetch(std::int64_t told, bool is_fetched, Clock::time_point now);
  /// Of the last question; dropped where a fetch has told something since, or the partition was assigned anew.
  void note_answer(std::int64_t told);
  bool is_due(const Pace& pace, Clock::time_point now) const;
  /// There is more, and no fetch tells of it though one is said to be under way: it has to be sought again. Once for an
  /// answer.
  bool is_missed(const Pace& pace, bool is_fetched, Clock::time_point now);
};

}  // namespace inboxd::consumer
