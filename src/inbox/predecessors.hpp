#pragma once
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "inbox/upkeep.hpp"

namespace inboxd::inbox {

/// An instance that has not said that it stops, of the same boot and network namespace, or of the same member of the
/// group as this process.
struct Predecessor {
  base::Uuid instance_id;
  std::string host;
  int process_id = 0;
  bool is_same_member = false;  ///< brokers shut it out once this process joins
  bool is_same_boot = false;    ///< also of the same network namespace: its base::Presence is visible here
};
std::vector<Predecessor> find_predecessors(Connection& connection, const InstanceIdentity& self);

/// Processes of the same member whose leases this process has ended, and which have sent a heartbeat since: they live.
std::vector<Predecessor> find_living_predecessors(Connection& connection, const base::Uuid& self);

/// Ends the leases of processes that have gone, at most `limit` deliveries. False: some are left, call it again.
bool end_leases(Connection& connection, const std::vector<base::Uuid>& of, const base::Uuid& successor, int limit);

}  // namespace inboxd::inbox
