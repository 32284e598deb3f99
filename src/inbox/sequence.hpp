#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/claim.hpp"
#include "inbox/connection.hpp"

/// Sequences: the right to run a handler's events of a single shard, or of all shards, in order (table `sequence`).
namespace inboxd::inbox {

/// The sequence of a handler with `order_scope: handler`. Others have the number of their shard.
constexpr std::int32_t whole_handler = 0;

/// A sequence that this process owns, as the database identifies the ownership.
struct SequenceKey {
  std::int32_t sequence = 0;
  std::int64_t fence = 0;
  bool operator==(const SequenceKey&) const = default;
};

/// Takes sequences without a live owner: the `wanted` sequences and, if `orphans`, all that have pending rows. Returns
/// the taken sequences, all with the given fence. Also takes sequences again that this process owns. Takes none if the
/// handler's order in the database is not `order` (config::order_text).
std::vector<std::int32_t> take_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                                         std::int64_t fence, std::chrono::milliseconds lease,
                                         const std::vector<std::int32_t>& wanted, bool orphans,
                                         const std::string& order);

struct RenewedSequence {
  std::int32_t sequence = 0;
  bool is_wanted = false;  ///< another instance has the partition assigned and waits for its sequence
  /// Its fence, if a replay or another server process has changed it: to drain, to release under it, to take again.
  std::optional<std::int64_t> other_fence = {};
};
/// Extends leases, also under another fence, because calls may run; returns the sequences that this process still has.
std::vector<RenewedSequence> renew_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                                             const std::vector<SequenceKey>& keys, std::chrono::milliseconds lease);

/// The `keys` that this process no longer has: another process owns them, or a replay has put events back into their
/// lanes. Changes nothing.
std::vector<SequenceKey> find_lost_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                                             const std::vector<SequenceKey>& keys);

/// Ends leases. All deliveries of the sequences must be released or settled.
void release_sequences(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                       const std::vector<SequenceKey>& keys);

/// A sequence to claim from.
struct SequenceToRead {
  std::int32_t sequence = 0;
  std::int64_t start = -1;        ///< the first ordinal to look at
  std::int64_t mark = -1;         ///< leased rows up to this place are in memory:
  std::int64_t mark_offset = -1;  ///< ordinal and last offset: the first rows may be settled
};

/// The closed window of a batch handler, to claim from.
struct WindowToRead {
  std::int64_t fence = 0;  ///< of the handler's sequence
  bool groups_by_key = false;
  std::int64_t call_events = 0;  ///< the most events of a call
  std::int32_t max_crashes = 0;  ///< after this many, the call of a suspect is halved
};

struct ClaimInOrderRequest {
  ClaimRequest claim;              ///< `slice` does not apply; `lease` is that of the sequences
  std::vector<SequenceKey> owned;  ///< all of this process, for lanes
  std::vector<SequenceToRead> read;
  std::optional<WindowToRead> window{};  ///< in place of `owned` and `read`
};

/// The state of a sequence after it was read.
struct SequenceRead {
  std::int32_t sequence = 0;
  enum class State {
    end,     ///< no row is left below the position
    more,    ///< there are more rows
    leased,  ///< a row is leased and not in memory
    waits,   ///< history comes first, or a suspect may not run now
    lost,    ///< another process owns the sequence
    ended,   ///< of a window: all its events have their outcomes
  };
  State state = State::end;
  std::int32_t epoch = 0;         ///< the shard's position from before the rows were read
  std::int64_t next_offset = -1;  ///< -1: none
};

struct ClaimedInOrder {
  Claimed claimed;  ///< runs of lanes, then runs of each sequence in its order
  std::vector<SequenceRead> sequences;
};

/// Claims deliveries of sequences in order, and due lanes. Rows beyond `bytes` are in `excess`, still leased: they must
/// be released before the next claim. Throws DatabaseError; rows may then be leased under the claim's fence.
ClaimedInOrder claim_in_order(Connection& connection, const ClaimInOrderRequest& request);

/// What the owner of a batch handler says about its windows.
struct WindowPlan {
  std::int64_t fence = 0;                          ///< of the handler's sequence
  std::optional<event::Microseconds> latest{};     ///< the latest close that has come; nullopt: none is known
  std::optional<event::Microseconds> next{};       ///< the next close, for people
  std::int64_t at_least = 1;                       ///< events, or the close is postponed,
  int max_postponed = 0;                           ///< but at most so often in a row
  std::chrono::milliseconds max_postponed_time{0};  ///< and for at most this time
};
struct WindowTurn {
  enum class State {
    open,       ///< events collect until the next close
    closed,     ///< just now
    running,    ///< closed earlier; it has events without an outcome
    empty,      ///< it closed without an event
    postponed,  ///< it had too few events
    lost,       ///< another process owns the sequence
  };
  State state = State::open;
  event::Microseconds now = 0;            ///< by the database's clock
  event::Microseconds decided_until = 0;  ///< closes up to here are decided
  event::Microseconds closed_at = 0;      ///< the last close
  std::int64_t events = 0;                ///< of the window that runs, or of a close that was decided now
};
/// Decides about the window of a batch handler, and closes it in time. Repeating it is harmless.
WindowTurn turn_window(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                       const WindowPlan& plan);

/// A lane, as a blocked or parked key.
struct Lane {
  std::int32_t sequence = 0;
  std::int64_t lane = 0;
  bool has_events = true;  ///< pending events
  bool is_parked = false;
};
/// The lanes of a sequence with a hash beyond `after`, at most `limit`, in order.
std::vector<Lane> read_lanes(Connection& connection, std::int32_t handler_id, std::int32_t sequence, std::int64_t after,
                             int limit);
/// The present state of these lanes, in order.
std::vector<Lane> check_lanes(Connection& connection, std::int32_t handler_id, std::vector<Lane> lanes);

}  // namespace inboxd::inbox
