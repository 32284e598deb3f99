#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "event/offset_set.hpp"
#include "inbox/claim.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// The lane that a failed event begins or continues: the hash of its order key, and the key, shortened.
struct FailedKey {
  std::int64_t lane = 0;
  std::optional<std::string> key;  ///< nullopt: the event has none (`missing_key: shared`)
  bool operator==(const FailedKey&) const = default;
};

/// Offsets of a delivery that failed alike and are retried together.
struct RetryGroup {
  event::OffsetSet offsets;
  std::chrono::milliseconds delay{0};
  std::optional<std::string> last_error;  ///< of all offsets; nullopt: each failure has its own
  std::optional<FailedKey> key{};         ///< of a single event that blocks its key; nullopt: retried in no order
  bool is_deferred = false;               ///< at the handler's wish, or until their time: no attempt is counted
  /// They wait for their `deliver_at`: no handler got them, so there is no error.
  bool is_postponed() const { return is_deferred && !last_error; }
};

/// Offsets that wait in their lane, without an attempt.
struct WaitingEvents {
  std::int64_t lane = 0;
  event::OffsetSet offsets;
  std::optional<std::string> key{};  ///< as in FailedKey
};

/// A failed attempt of an event.
struct FailedAttempt {
  base::Uuid event_id;
  std::int32_t attempt = 1;
  std::string error_class;
  std::string message;
  std::chrono::milliseconds duration{0};
};

struct DeadEvent {
  std::int64_t offset = 0;
  base::Uuid event_id;
  /// parks: later events of its key are parked. parked: such an event, without an attempt; it waits in its lane instead
  /// if an operator has released the key meanwhile. expired: before a call. expires: it failed, and a retry would be
  /// too late.
  enum class State { dead, parks, parked, expired, expires };
  State state = State::dead;
  std::optional<FailedKey> key{};  ///< nullopt: not in a sequence
};

/// The outcomes to record for a delivery. `done`, `skipped`, `retries`, `dead` and `waiting` are disjoint parts of its
/// pending offsets.
struct Settlement {
  LeaseKey key;
  event::OffsetSet done;
  std::vector<RetryGroup> retries;
  std::vector<FailedAttempt> failures;
  std::vector<DeadEvent> dead;
  std::vector<WaitingEvents> waiting{};
  event::OffsetSet skipped{};  ///< by the handler
  bool is_of_lane = false;  ///< when its events are settled, the next row of the lane is due
  bool whole = false;       ///< covers everything that was pending
};

/// Replaces non-ASCII characters in error classes and messages: the encoding of a database may lack them. Only these
/// texts, which handlers write, can make the database reject a settlement as poison.
void make_ascii(std::vector<Settlement>& settlements);

/// Records settlements in a single transaction, each guarded by its fence. Returns the keys whose lease was lost:
/// nothing was recorded for them. Throws DatabaseError. After `in_doubt` the same settlements may run again:
/// settlements already recorded then count as lost, which is harmless.
std::vector<LeaseKey> settle(Connection& connection, const base::Uuid& owner,
                             const std::vector<Settlement>& settlements);

/// Settles deliveries whose events were purged as `skipped`.
void settle_skipped(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys);

}  // namespace inboxd::inbox
