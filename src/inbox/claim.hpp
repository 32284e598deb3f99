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
#include "event/offset_set.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// Identifies a delivery in flight. Its owner is this process.
struct LeaseKey {
  std::int64_t delivery_id = 0;
  std::int64_t fence = 0;
  bool operator==(const LeaseKey&) const = default;
};

/// Where the events of a run are in Kafka.
struct Place {
  std::string topic;
  std::int32_t partition = 0;
};

/// Events in memory with the bytes that they point to. Shared by the runs of a batch.
struct EventBlock {
  base::Arena arena;
  std::vector<event::Event> events;
};

/// A delivery leased to this process, with its events.
struct LeasedRun {
  std::int32_t handler_id = 0;
  std::int32_t shard_id = 0;
  LeaseKey key;
  event::OffsetSet pending;
  std::int32_t attempts = 0;  ///< settled failures: this is attempt `attempts + 1`
  std::int32_t claims = 1;
  std::optional<std::int32_t> sequence{};  ///< that it belongs to; it is leased as long as the sequence is owned
  std::int64_t ordinal = 0;                ///< in a sequence: its place in the order of storing
  std::optional<std::int64_t> lane{};      ///< the hash of its events' order key
  std::optional<std::int64_t> group{};     ///< the hash of the only key that a batch handler gets in a call
  bool never_expires = false;              ///< an operator has replayed it
  bool was_deferred = false;               ///< it has no attempt, but is no fresh event
  bool was_alone = false;                  ///< a single event, alone in its call at the last crash
  bool has_content = true;                 ///< false: payloads and headers were left in the database
  std::shared_ptr<const Place> place;
  std::shared_ptr<const EventBlock> block;  ///< keeps the events' bytes
  std::vector<const event::Event*> events;  ///< the events of `pending`, by offset
};

/// A delivery that was in flight at this many crashes is a suspect (inbox.claim). It is claimed alone, and while it is
/// in flight no other suspect of any handler is claimed.
constexpr std::int32_t suspected_after = 3;
inline bool is_suspect(const LeasedRun& run) { return run.claims > suspected_after; }

struct ClaimRequest {
  std::int32_t handler_id = 0;
  base::Uuid owner;
  std::int64_t fence = 0;  ///< of this claim alone; 0: draws a number
  std::chrono::milliseconds lease{0};
  std::int64_t events = 0;       ///< the most events to claim
  std::size_t bytes = 64 << 20;  ///< about the most bytes to read; the excess is released
  int rows = 0;                  ///< the most rows to lock while the claim runs
  int slice = 0;                 ///< splits larger runs into rows of at most this many events; 0: does not
  bool payloads = true;          ///< false: leaves payloads and headers in the database
  std::int32_t claims_from = 0;  ///< only deliveries claimed at least so often before,
  std::int32_t claims_to = std::numeric_limits<std::int32_t>::max();  ///< and at most so often
  /// The low-water mark from read_due: no delivery of the handler is due earlier. nullopt: scan all.
  std::optional<event::Microseconds> not_before;
};

struct Claimed {
  std::vector<LeasedRun> runs;
  int rows_locked = 0;  ///< equal to `rows`: there may be more
  /// Deliveries of purged events: settle them as skipped.
  std::vector<LeaseKey> empty;
  /// The excess, if releasing it failed: release it again.
  std::vector<LeaseKey> excess;
};

/// Claims due deliveries, reads their events and releases the excess. If reading fails, it releases everything and
/// throws.
Claimed claim(Connection& connection, const ClaimRequest& request);

/// For the low-water mark: the earliest due_at of a handler's rows, read without locks, and the snapshot's bounds.
struct DueReading {
  std::optional<event::Microseconds> earliest;  ///< nullopt: nothing pending
  event::Microseconds now = 0;
  std::uint64_t xmin = 0;
  std::uint64_t xmax = 0;  ///< above every transaction open at that time
  /// If asked for: right after the reading, no transaction below this transaction id that inserts deliveries was still
  /// open. The reading may have missed the deliveries of such a transaction.
  std::optional<std::uint64_t> writers = std::nullopt;
};
DueReading read_due(Connection& connection, std::int32_t handler_id, std::optional<event::Microseconds> not_before,
                    bool asks_writers);

/// Which of the handlers have deliveries that are due, each not before its time; none: at any time. Lock-free.
std::vector<std::int32_t> find_due(Connection& connection, const std::vector<std::int32_t>& handlers,
                                   const std::vector<std::optional<event::Microseconds>>& not_before);

/// Extends these leases to now + lease, except on locked rows. Returns the number extended.
std::int64_t renew(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys,
                   std::chrono::milliseconds lease);

/// Releases deliveries without charging an attempt or a claim: due now.
std::int64_t release_leases(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys);

/// Releases everything that claims with these fences took, the oldest started at most `since` ago. For claims whose
/// answer was lost: none of their deliveries was ever in flight.
std::int64_t release_claims(Connection& connection, const base::Uuid& owner, std::int32_t handler_id,
                            const std::vector<std::int64_t>& fences, std::chrono::milliseconds since);

}  // namespace inboxd::inbox
