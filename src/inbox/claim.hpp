#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.hpp"
#include "base/uuid.hpp"
#include "event/event.hpp"
#include "event/offsets.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// The key of a delivery in hand: id and fence; the owner is this process.
struct LeaseKey {
  std::int64_t delivery_id = 0;
  std::int64_t fence = 0;
  bool operator==(const LeaseKey&) const = default;
};

/// Where an event of a run is in Kafka.
struct Place {
  std::string topic;
  std::int32_t partition = 0;
};

/// Events in memory together with the bytes that they point to. Shared by the runs that were made of one batch.
struct EventBlock {
  base::Arena arena;
  std::vector<event::Event> events;
};

/// A delivery that this process has leased, with its events.
struct LeasedRun {
  std::int32_t handler_id = 0;
  std::int32_t shard_id = 0;
  LeaseKey key;
  event::OffsetSet pending;
  std::int32_t attempts = 0;                   ///< failures settled so far: this is attempt `attempts + 1`
  std::int32_t claims = 1;
  bool has_content = true;  ///< payloads and headers were read, not left in the database
  std::shared_ptr<const Place> place;
  std::shared_ptr<const EventBlock> block;     ///< keeps the events' bytes
  std::vector<const event::Event*> events;     ///< by offset; those of `pending`
};

/// A delivery that was found after so many unclean ends is a suspect (inbox.claim): it is taken alone, and while it is
/// in hand no other is taken, of any handler.
constexpr std::int32_t suspected_after = 3;
inline bool is_suspect(const LeasedRun& run) { return run.claims > suspected_after; }

struct ClaimRequest {
  std::int32_t handler_id = 0;
  base::Uuid owner;
  std::int64_t fence = 0;  ///< of this claim alone; 0: one is drawn
  std::chrono::milliseconds lease{0};
  std::int64_t events = 0;                     ///< the most events wanted
  std::size_t bytes = 64 << 20;                ///< about the most bytes; what is over is given back
  int rows = 0;                                ///< the most rows looked at (they are locked while the claim runs)
  int slice = 0;                               ///< larger runs are cut into rows of at most so many events; 0: none is
  bool payloads = true;                        ///< false: payloads and headers are left in the database
  std::int32_t claims_from = 0;                ///< only what was claimed at least so often before,
  std::int32_t claims_to = std::numeric_limits<std::int32_t>::max();  ///< and no more often
  /// Nothing of the handler can be due before, as read_due has shown. nullopt: look everywhere.
  std::optional<event::Microseconds> not_before;
};

struct Claimed {
  std::vector<LeasedRun> runs;
  int rows_locked = 0;                         ///< as many as `rows`: there may be more
  /// Deliveries whose events are gone (purged): to be settled as skipped.
  std::vector<LeaseKey> empty;
  /// What was more than was wanted and could not be given back: to be tried again.
  std::vector<LeaseKey> over;
};

/// Takes due deliveries and reads their events; gives back what is over. Throws where it has nothing to hand on.
Claimed claim(Connection& connection, const ClaimRequest& request);

/// For the low-water mark of design rule 5: the earliest due_at of all rows (no locks) and the snapshot's bounds.
struct DueReading {
  std::optional<event::Microseconds> earliest; ///< nothing outstanding: nullopt
  event::Microseconds now = 0;
  std::uint64_t xmin = 0;
  std::uint64_t xmax = 0;                       ///< above every transaction that was open at the reading
  /// Where it was asked for: no transaction below it that makes deliveries was open any more just *behind* the reading,
  /// which may not have seen what it made.
  std::optional<std::uint64_t> writers = std::nullopt;
};
DueReading read_due(Connection& connection, std::int32_t handler_id, std::optional<event::Microseconds> not_before,
                    bool asks_writers);

/// Extends leases by name to now + lease, skipping rows that are locked; returns how many were.
std::int64_t renew(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys,
                   std::chrono::milliseconds lease);

/// Gives deliveries back uncharged, due now (claims as if they had never been taken).
std::int64_t give_back(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys);

/// The same for all that claims with these fences took, the oldest asked for at most so long ago: their answers were
/// lost, so nobody knows what it is, and nothing of it was ever in hand.
std::int64_t give_back_claims(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                              const std::vector<std::int64_t>& fences, std::chrono::milliseconds since);

}  // namespace inboxd::inbox
