#pragma once
#include <string>

#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"

namespace inboxd::inbox {

/// Notes who did what, for what leaves no other trace in the database. Throws what `describe` reads.
void write_audit(Connection& connection, const std::string& actor, const std::string& operation,
                 const std::string& target);

}  // namespace inboxd::inbox
