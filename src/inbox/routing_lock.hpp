#pragma once
#include <cstdint>
#include <string>

#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

/// Locks the list of handlers to change it. Waits for running ingest transactions; ingest waits for this lock. Times
/// out after 10 s. For inbox and operations, like the other functions of this file.
inline void lock_routing(Connection::Access& access, pqxx::work& tx) {
  access.run_in(tx, statements::set_lock_timeout, pqxx::params{"10s"});
  access.run_in(tx, statements::lock_routing, {});
}

/// Keeps the list of handlers from changing until the end of the transaction, as ingest does. Take this lock before any
/// other: ingest takes it first, too.
inline void share_routing(Connection::Access& access, pqxx::work& tx) {
  access.run_in(tx, statements::set_lock_timeout, pqxx::params{"10s"});
  access.run_in(tx, statements::share_routing, {});
}

/// Routes to a retired handler again, under `version`. Call it with routing locked. Deletes pending events left over
/// from before. Returns false if the handler is not retired.
inline bool restore_handler(Connection::Access& access, pqxx::work& tx, std::int32_t handler_id,
                            const std::string& actor, std::int64_t version) {
  if (access.run_in(tx, statements::restore_handler, pqxx::params{handler_id, actor, version}).empty()) return false;
  access.run_in(tx, statements::await_settlements, pqxx::params{handler_id});
  while (access.run_in(tx, statements::delete_pending, pqxx::params{handler_id})[0][0].as<bool>()) {
  }
  return true;
}

}  // namespace inboxd::inbox
