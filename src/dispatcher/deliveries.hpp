#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/log.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "inbox/answer.hpp"
#include "inbox/claim.hpp"
#include "inbox/handler_hold.hpp"
#include "inbox/handler_limit.hpp"
#include "inbox/sequence.hpp"
#include "inbox/watchdog.hpp"

/// Pending deliveries in the database: how they are claimed, and where a claim's scan starts.
namespace inboxd::dispatcher {

/// The database as the claimer uses it, or a fake of it. Fills in the owner. One thread; blocks.
class Deliveries {
 public:
  template <class T>
  using Answer = inbox::Answer<T>;

  virtual ~Deliveries() = default;
  virtual Answer<inbox::Claimed> claim(const inbox::ClaimRequest& request) = 0;
  virtual Answer<inbox::DueReading> read_due(std::int32_t handler_id, std::optional<event::Microseconds> from,
                                             bool asks_writers) = 0;
  virtual Answer<std::int64_t> renew(const std::vector<inbox::LeaseKey>& keys, std::chrono::milliseconds lease) = 0;
  virtual Answer<std::int64_t> release_leases(const std::vector<inbox::LeaseKey>& keys) = 0;
  virtual Answer<std::int64_t> release_claims(std::int32_t handler_id, const std::vector<std::int64_t>& fences,
                                              std::chrono::milliseconds since) = 0;
  virtual Answer<std::monostate> settle_skipped(const std::vector<inbox::LeaseKey>& keys) = 0;

  // Handlers that keep order; see inbox/sequence.hpp. A fake without them needs none of these.

  virtual Answer<std::vector<std::int32_t>> take_sequences(std::int32_t /*handler_id*/, std::int64_t /*fence*/,
                                                           std::chrono::milliseconds /*lease*/,
                                                           const std::vector<std::int32_t>& /*wanted*/,
                                                           bool /*orphans*/, const std::string& /*order*/) {
    return std::vector<std::int32_t>{};
  }
  virtual Answer<std::vector<inbox::RenewedSequence>> renew_sequences(std::int32_t /*handler_id*/,
                                                                      const std::vector<inbox::SequenceKey>& /*keys*/,
                                                                      std::chrono::milliseconds /*lease*/) {
    return std::vector<inbox::RenewedSequence>{};
  }
  virtual Answer<std::vector<inbox::SequenceKey>> find_lost_sequences(
      std::int32_t /*handler_id*/, const std::vector<inbox::SequenceKey>& /*keys*/) {
    return std::vector<inbox::SequenceKey>{};
  }
  virtual Answer<std::monostate> release_sequences(std::int32_t /*handler_id*/,
                                                   const std::vector<inbox::SequenceKey>& /*keys*/) {
    return std::monostate{};
  }
  virtual Answer<inbox::ClaimedInOrder> claim_in_order(const inbox::ClaimInOrderRequest& /*request*/) {
    return inbox::ClaimedInOrder{};
  }
  virtual Answer<inbox::WindowTurn> turn_window(std::int32_t /*handler_id*/, const inbox::WindowPlan& /*plan*/) {
    return inbox::WindowTurn{};
  }
  virtual Answer<std::vector<inbox::Lane>> read_lanes(std::int32_t /*handler_id*/, std::int32_t /*sequence*/,
                                                      std::int64_t /*after*/, int /*limit*/) {
    return std::vector<inbox::Lane>{};
  }
  virtual Answer<std::vector<inbox::Lane>> check_lanes(std::int32_t /*handler_id*/,
                                                       const std::vector<inbox::Lane>& lanes) {
    return lanes;
  }

  /// Pauses of handlers; see inbox/handler_hold.hpp.
  virtual Answer<std::vector<inbox::HandlerHold>> read_holds(const std::vector<std::int32_t>& /*handlers*/,
                                                             const std::vector<std::int32_t>& /*may_try*/,
                                                             std::chrono::milliseconds /*trial*/) {
    return std::vector<inbox::HandlerHold>{};
  }
  virtual Answer<std::monostate> write_hold(std::int32_t /*handler_id*/, const inbox::HoldNews& /*news*/) {
    return std::monostate{};
  }

  /// Limits of handlers; see inbox/handler_limit.hpp.
  virtual Answer<inbox::Tokens> take_tokens(std::int32_t /*handler_id*/, double /*per_second*/,
                                            std::int64_t /*wanted*/) {
    return inbox::Tokens{};
  }
  virtual Answer<int> share_calls(std::int32_t /*handler_id*/, const inbox::CallsRequest& /*request*/) { return 0; }

  /// The time limit of all following statements together, at most the configured deadline each; nullopt: only that.
  virtual void limit_statements(std::optional<std::chrono::milliseconds> longest) = 0;
  /// A new number marks a new session: readings made in the old one are stale.
  virtual int generation() const = 0;
};

std::unique_ptr<Deliveries> database_deliveries(const config::Database& database, base::Uuid owner,
                                                inbox::Watchdog& watchdog, base::Logger& log);

/// The time before which no delivery of a handler can be due. A claim starts its scan there, so that it does not walk
/// settled rows that an old snapshot keeps from vacuum. Pure.
///
/// A reading may miss rows of transactions that were open then. They have all ended once a later snapshot's xmin has
/// reached the earlier snapshot's xmax. Rows that the later reading does not see were made after the earlier reading,
/// and are due after it.
///
/// A foreign transaction that stays open for hours holds back that xmin and vacuum, just when the mark is needed most.
/// The reading then also reports which transactions that insert deliveries are still open after it; the next reading
/// sees the rows of those that have ended. A transaction that starts to insert deliveries later makes them due later.
class LowWater {
 public:
  using Clock = std::chrono::steady_clock;
  /// Between two readings without the mark, which find rows that are due before it after all.
  static constexpr std::chrono::seconds full_every{60};
  /// A reading without the mark walks all rows that vacuum cannot remove, and claims wait for it. It takes at most one
  /// part in this many of the time, but happens at least every `full_at_least_every`.
  static constexpr int full_part = 500;
  static constexpr std::chrono::minutes full_at_least_every{10};
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

}  // namespace inboxd::dispatcher
