#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "event/offsets.hpp"
#include "inbox/claim.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// Offsets of one delivery that failed alike and are tried again together.
struct RetryGroup {
  event::OffsetSet offsets;
  std::chrono::milliseconds delay{0};
  std::optional<std::string> last_error;       ///< of all of them; nothing: each has its own, among the failures
};

/// One failed attempt of one event.
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
};

/// What is recorded of one delivery at once. `done`, the groups and the dead are disjoint parts of its pending.
struct Settlement {
  LeaseKey key;
  event::OffsetSet done;
  std::vector<RetryGroup> retries;
  std::vector<FailedAttempt> failures;
  std::vector<DeadEvent> dead;
  bool whole = false;                          ///< all that was pending leaves the row with this settlement
};

/// Their texts without what the encoding of a database may lack. They are a handler's, and all that can be refused for
/// what it holds.
void make_plain(std::vector<Settlement>& settlements);

/// Records settlements in one transaction, each guarded by its fence. Returns those whose lease was lost: nothing of
/// them was recorded. Throws; after `in_doubt` the same settlements may run again: what was recorded is then told as
/// lost, which harms nothing.
std::vector<LeaseKey> settle(Connection& connection, const base::Uuid& owner,
                             const std::vector<Settlement>& settlements);

/// Deliveries whose events were purged leave as `skipped`.
void settle_skipped(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys);

}  // namespace inboxd::inbox
