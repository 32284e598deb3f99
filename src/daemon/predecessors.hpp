#pragma once
#include "base/logger.hpp"
#include "inbox/connection.hpp"
#include "inbox/upkeep.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::daemon {

/// Ends the leases of this process's predecessors, so that their events need not wait for the ends of the leases:
/// processes of this boot and network namespace that have ended without saying so, and an earlier process of the same
/// member of the group, which brokers shut out. A member that is seen to live here keeps its leases. Returns whether
/// there was a predecessor. A failure delays the events and nothing else.
bool end_predecessors(inbox::Connection& connection, const inbox::InstanceIdentity& self,
                      const inbox::Watchdog& watchdog, base::Logger& log);

}  // namespace inboxd::daemon
