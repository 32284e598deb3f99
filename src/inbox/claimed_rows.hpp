#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "inbox/claim.hpp"
#include "inbox/connection_access.hpp"

namespace inboxd::inbox {

/// A claimed row before its events are read.
struct ClaimedRow {
  LeasedRun run;
  std::int64_t events = 0;
  std::optional<event::Microseconds> received_from;  ///< nullopt: unlimited
  std::optional<event::Microseconds> received_to;    ///< nullopt: unlimited
};

/// How much of the claimed rows to read.
struct ReadLimit {
  std::size_t bytes = 0;  ///< about the most bytes; at least 1 row is read
  bool payloads = true;   ///< false: leaves payloads and headers in the database
};

/// Reads the events of claimed rows, in portions, and sorts the rows into `out`: runs, deliveries whose events were
/// purged, and the excess beyond the limit. `event_bytes`: an event's size in the handler's last claim (0: unknown),
/// updated from this claim. Throws DatabaseError.
void read_claimed(Connection::Access& access, std::vector<ClaimedRow>& rows, ReadLimit limit, std::int64_t& event_bytes,
                  Claimed& out);

/// Releases leases. Returns whether it succeeded; if not, the claim itself still stands.
bool release_quietly(Connection& connection, const base::Uuid& owner, const std::vector<LeaseKey>& keys);

}  // namespace inboxd::inbox
