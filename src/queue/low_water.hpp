#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "inbox/claim.hpp"

namespace inboxd::dispatcher {

/// The time before which no delivery of a handler can be due. A claim starts its scan there, so that it does not walk
/// settled rows that an old snapshot keeps from vacuum. Pure.
///
/// A reading may miss rows of transactions that were open then. They have all ended once a later snapshot's xmin has
/// reached the earlier snapshot's xmax. Rows that the later reading does not see were made after the earlier reading,
/// and are due after it.
///
/// A foreign transaction that stays open for hours holds back that xmin and vacuum, just when the mark is needed most.
/// The reading then also reports which transactions that insert deliveries are still open after it; the next reading
/// sees the rows of the transactions that have ended. A transaction that starts to insert deliveries later makes them
/// due later.
class LowWater {
 public:
  using Clock = std::chrono::steady_clock;
  /// Between two readings without the mark, which find rows that are due before it after all.
  static constexpr std::chrono::seconds full_interval{60};
  /// A reading without the mark walks all rows that vacuum cannot remove, and claims wait for it. It takes at most a
  /// 500th of the time, but happens at least every `max_full_interval`.
  static constexpr int full_part = 500;
  static constexpr std::chrono::minutes max_full_interval{10};
  /// A mark that has not moved for this long makes the reading ask for open transactions that insert deliveries.
  static constexpr std::chrono::seconds standstill{2};
  /// If the database's clock advanced this much less than ours, it was turned back: the mark is dropped.
  static constexpr std::chrono::milliseconds step_back{100};

  /// A row takes its time just before its transaction shows in snapshots, so it may be due this much before a reading
  /// that does not see it.
  static constexpr std::chrono::milliseconds margin{500};

  /// The start of the next reading; nullopt: everywhere.
  std::optional<event::Microseconds> reading_from(Clock::time_point now) const;
  /// Whether the next reading must report open transactions that insert deliveries.
  bool asks_writers(Clock::time_point now) const { return noted_ && now - noted_->asked >= standstill; }
  /// A reading that was asked for at `asked` and arrived at `came`; its snapshot lies between the two.
  void observe(const inbox::DueReading& reading, Clock::time_point asked, Clock::time_point came);

  /// For a claim; nullopt: unknown.
  std::optional<event::Microseconds> not_before() const { return mark_; }

 private:
  struct Noted {
    event::Microseconds now = 0;
    std::uint64_t xmax = 0;
    Clock::time_point asked;
  };
  struct ClockPair {
    event::Microseconds database = 0;
    Clock::time_point ours;
  };
  bool clock_stepped_back(const inbox::DueReading& reading, Clock::time_point asked) const;

  std::optional<Noted> noted_;
  std::uint64_t ended_ = 0;  ///< after the last reading, no transaction below it was open that inserts deliveries
  std::optional<event::Microseconds> mark_;
  std::optional<Clock::time_point> next_full_;
  std::optional<ClockPair> last_;
};

/// When the mark of a handler is read. Pure.
class LowWaterReadings final {
 public:
  using Clock = LowWater::Clock;

  const LowWater& mark() const { return mark_; }
  bool is_due(Clock::time_point now) const { return now >= next_; }
  /// Runs were added since the last reading.
  void note_activity() { active_ = true; }
  void observe(const inbox::DueReading& reading, Clock::time_point asked, Clock::time_point came) {
    mark_.observe(reading, asked, came);
    const bool is_busy = std::exchange(active_, false) || !mark_.not_before();
    next_ = asked + (is_busy ? interval : idle_interval);
  }
  /// The session of earlier readings has ended.
  void forget() { mark_ = {}; }

 private:
  static constexpr std::chrono::milliseconds interval{1'000};
  static constexpr std::chrono::milliseconds idle_interval{10'000};

  LowWater mark_;
  bool active_ = false;
  Clock::time_point next_{};
};

}  // namespace inboxd::dispatcher
