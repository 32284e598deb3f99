#pragma once
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

/// Which handlers there are is this transaction's to change from now on: it has waited for running ingest transactions,
/// and gives way to those that come after it where that takes too long. Private to this room.
inline void lock_routing(Connection::Access& access, pqxx::work& tx) {
  access.run_in(tx, statements::set_lock_timeout, pqxx::params{"10s"});
  access.run_in(tx, statements::lock_routing, {});
}

/// Which handlers there are stays as it is to the end of this transaction, as in an ingest transaction. Before any
/// other lock: ingest takes it first, too.
inline void share_routing(Connection::Access& access, pqxx::work& tx) {
  access.run_in(tx, statements::set_lock_timeout, pqxx::params{"10s"});
  access.run_in(tx, statements::share_routing, {});
}

}  // namespace inboxd::inbox
