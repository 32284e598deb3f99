#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "inbox/answer.hpp"
#include "inbox/claim.hpp"
#include "inbox/handler_hold.hpp"
#include "inbox/handler_limit.hpp"
#include "inbox/sequence.hpp"

/// The questions of handlers to the database, and its answers. Each question is a visit of the claimer.
namespace inboxd::dispatcher {

/// In the order in which the claimer asks.
enum class Class {
  lease,  ///< a late renewal loses the lease, so these come first
  hold,   ///< pauses for all instances
  limit,  ///< `rate` and `max_in_flight`
  claim,  ///< claims, and the questions that precede them
};
constexpr std::size_t classes = 4;

// Class lease.

struct RenewLeases {
  std::vector<inbox::LeaseKey> keys;
  std::chrono::milliseconds lease{0};
  using Result = std::int64_t;  ///< the number renewed
};
struct ReleaseLeases {
  std::vector<inbox::LeaseKey> keys;
  using Result = std::monostate;
};
/// Releases everything that claims with these fences took: their answers were lost.
struct ReleaseClaims {
  std::int32_t handler_id = 0;
  std::vector<std::int64_t> fences;
  std::chrono::milliseconds since{0};
  using Result = std::monostate;
};
/// Deliveries whose events were purged.
struct SettleSkipped {
  std::vector<inbox::LeaseKey> keys;
  using Result = std::monostate;
};
struct RenewSequences {
  std::int32_t handler_id = 0;
  std::vector<inbox::SequenceKey> keys;
  std::chrono::milliseconds lease{0};
  using Result = std::vector<inbox::RenewedSequence>;
};
struct FindLostSequences {
  std::int32_t handler_id = 0;
  std::vector<inbox::SequenceKey> keys;
  using Result = std::vector<inbox::SequenceKey>;
};
struct ReleaseSequences {
  std::int32_t handler_id = 0;
  std::vector<inbox::SequenceKey> keys;
  using Result = std::monostate;
};

// Class hold.

struct WriteHold {
  std::int32_t handler_id = 0;
  inbox::HoldNews news;
  using Result = std::monostate;
};
/// Of all handlers together.
struct ReadHolds {
  std::vector<std::int32_t> handlers;
  std::vector<std::int32_t> may_try;
  std::chrono::milliseconds trial{0};
  using Result = std::vector<inbox::HandlerHold>;
};

// Class limit.

struct TakeTokens {
  std::int32_t handler_id = 0;
  double per_second = 0;
  std::int64_t wanted = 0;
  using Result = inbox::Tokens;
};
struct ShareCalls {
  std::int32_t handler_id = 0;
  inbox::CallsRequest calls;
  using Result = int;  ///< the calls that this instance may make
};

// Class claim.

/// Which handlers have something to claim, of all handlers together.
struct FindDue {
  std::vector<std::int32_t> handlers;
  std::vector<std::optional<event::Microseconds>> not_before;  ///< of each: its low-water mark
  using Result = std::vector<std::int32_t>;
};
/// For the low-water mark.
struct ReadDue {
  std::int32_t handler_id = 0;
  std::optional<event::Microseconds> from;
  bool asks_writers = false;
  using Result = inbox::DueReading;
};
struct TakeSequences {
  std::int32_t handler_id = 0;
  std::int64_t fence = 0;
  std::chrono::milliseconds lease{0};
  std::vector<std::int32_t> wanted;
  bool orphans = false;  ///< also sequences without an owner
  std::string order;     ///< as configured here
  using Result = std::vector<std::int32_t>;
};
struct ReadLanes {
  std::int32_t handler_id = 0;
  std::int32_t sequence = 0;
  std::int64_t after = 0;
  int limit = 0;
  using Result = std::vector<inbox::Lane>;
};
/// A lane may be free because a replay has put its dead letter back, which ends the ownership of its sequence. So the
/// lost sequences of `owned` are found after the lanes.
struct CheckLanes {
  std::int32_t handler_id = 0;
  std::vector<inbox::Lane> lanes;
  std::vector<inbox::SequenceKey> owned;
  struct Result {
    std::vector<inbox::Lane> lanes;
    std::vector<inbox::SequenceKey> lost;
  };
};
/// Whether the window of a batch handler closes.
struct TurnWindow {
  std::int32_t handler_id = 0;
  inbox::WindowPlan plan;
  using Result = inbox::WindowTurn;
};
/// Due deliveries, in no order.
struct Claim {
  inbox::ClaimRequest request;  ///< the claimer adds the fence, and limits suspects
  std::int32_t max_crashes = 0;
  struct Result {
    inbox::Claimed claimed{};
    bool found_crashed = false;  ///< deliveries that were in flight at a crash: a claim splits them, the rest is due
  };
};
struct ClaimInOrder {
  inbox::ClaimInOrderRequest request;  ///< the claim
  std::int32_t max_crashes = 0;
  using Result = inbox::ClaimedInOrder;
};

using Request = std::variant<RenewLeases, ReleaseLeases, ReleaseClaims, SettleSkipped, RenewSequences,
                             FindLostSequences, ReleaseSequences, WriteHold, ReadHolds, TakeTokens, ShareCalls, FindDue,
                             ReadDue, TakeSequences, ReadLanes, CheckLanes, TurnWindow, Claim, ClaimInOrder>;

/// The question's `Result`, or the failure.
using Answer = std::variant<inbox::DatabaseFailure, std::monostate, std::int64_t, int, std::vector<std::int32_t>,
                            std::vector<inbox::RenewedSequence>, std::vector<inbox::SequenceKey>,
                            std::vector<inbox::HandlerHold>, std::vector<inbox::Lane>, CheckLanes::Result,
                            inbox::Tokens, inbox::DueReading, inbox::WindowTurn, Claim::Result,
                            inbox::ClaimedInOrder>;

inline bool is_disconnected(const inbox::DatabaseFailure& failure) {
  return failure.fault == inbox::Fault::reconnect || failure.fault == inbox::Fault::in_doubt;
}

/// When a question was asked, and when its answer came.
struct Visit {
  using Clock = std::chrono::steady_clock;
  Clock::time_point asked;
  Clock::time_point came;
};

}  // namespace inboxd::dispatcher
