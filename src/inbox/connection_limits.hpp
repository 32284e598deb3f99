#pragma once
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// The limits of role, database and server that allow fewer than `needed` sessions, each with its remedy. Empty with a
/// pooler: its sessions are not the server's.
std::vector<std::string> low_connection_limits(Connection& connection, int needed);

}  // namespace inboxd::inbox
