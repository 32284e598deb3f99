#pragma once
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// What is between us and the server.
enum class Pooler {
  none,
  session,                                     ///< each of our sessions keeps a server connection
  transaction,                                 ///< the transactions of a session run on changing server connections
};

/// A database server, as `check` looks at it.
struct ServerState {
  int version_number = 0;                      ///< 150018 is 15.18
  std::string version;
  std::string encoding;
  std::string user;
  bool has_schema = false;
  bool compiles_statements = false;            ///< jit is on in our sessions: a pooler did not let us turn it off
  bool waits_without_limit = false;            ///< for locks, or whether or not the client is still there
  std::string isolation;                       ///< how our transactions begin: a pooler may keep us from saying it
  Pooler pooler = Pooler::none;
  /// The pooler hands us server connections that do not know the statements we have prepared.
  bool loses_prepared_statements = false;
};

/// Can be asked before any migration. The second connection keeps a server connection busy, to see what the first gets
/// meanwhile; both connections' settings say `prepare: false` then. Null: poolers are not looked for.
ServerState inspect_server(Connection& first, Connection* second);

/// Rights that the daemon needs and this role lacks: `insert on event`. Only where the schema is migrated.
std::vector<std::string> missing_rights(Connection& connection);

}  // namespace inboxd::inbox
