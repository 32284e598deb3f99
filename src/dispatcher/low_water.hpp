#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "inbox/claim.hpp"

namespace inboxd::dispatcher {

/// The time before which no delivery of a handler can be due: a claim begins its scan there, so that it does not walk
/// over settled rows that an old snapshot keeps from vacuum. Pure.
///
/// A reading may miss rows of transactions that were open then. Those have all ended once a later snapshot's xmin has
/// reached the earlier one's xmax, which is above all that were open then; what that later reading does not see was
/// made after the earlier one, and so is due after it.
///
/// A transaction of somebody else's that stays open for hours holds that xmin back, and with it what vacuum may clean
/// up, just when the mark is needed most. Then the reading also tells which transactions that make deliveries are left
/// behind it; the next one sees what those have made that have ended by then. A transaction that begins to make
/// deliveries later makes them due later.
class LowWater {
 public:
  using Clock = std::chrono::steady_clock;
  /// So often at most the reading itself goes without the mark, in case that something is due before it after all.
  static constexpr std::chrono::seconds full_every{60};
  /// A reading without the mark walks over all that vacuum cannot clean up, and claims wait for it meanwhile: it takes
  /// one part in so many of the time, but is never put off for longer than that.
  static constexpr int full_part = 500;
  static constexpr std::chrono::minutes full_at_least_every{10};
  /// For so long the mark may stand still before a reading asks for those that make deliveries.
  static constexpr std::chrono::seconds standstill{2};
  /// The database's clock was set back where it moved so much less than ours: nothing is known any more.
  static constexpr std::chrono::milliseconds step_back{100};

  /// Rows made after a reading are due after it but for so much: a row's time is taken just before its transaction
  /// shows in snapshots.
  static constexpr std::chrono::milliseconds margin{500};

  /// Where the next reading is to begin; nullopt: everywhere.
  std::optional<event::Microseconds> reading_from(Clock::time_point now) const;
  /// Whether the next reading is to tell of transactions that make deliveries.
  bool asks_writers(Clock::time_point now) const { return noted_ && now - noted_->asked >= standstill; }
  /// A reading that was asked for at `asked` and had come at `came`: its snapshot is from in between.
  void observe(const inbox::DueReading& reading, Clock::time_point asked, Clock::time_point came);

  /// For a claim; nullopt: nothing is known.
  std::optional<event::Microseconds> not_before() const { return mark_; }

 private:
  struct Noted {
    event::Microseconds now = 0;
    std::uint64_t xmax = 0;
    Clock::time_point asked;
  };
  struct Clocks {
    event::Microseconds theirs = 0;
    Clock::time_point ours;
  };
  bool was_set_back(const inbox::DueReading& reading, Clock::time_point asked) const;

  std::optional<Noted> noted_;
  std::uint64_t ended_ = 0;  ///< below it nobody is left that makes deliveries, as was found behind the last reading
  std::optional<event::Microseconds> mark_;
  std::optional<Clock::time_point> next_full_;
  std::optional<Clocks> last_;
};

}  // namespace inboxd::dispatcher
