#pragma once
#include <string>
#include <vector>

#include "inbox/connection.hpp"

namespace inboxd::operations {

enum class Pooler {
  none,
  session,      ///< each of our sessions has a server connection of its own
  transaction,  ///< each transaction may run on another server connection
};

struct ServerState {
  int version_number = 0;  ///< 150018 is 15.18
  std::string version;
  std::string user;
  bool has_schema = false;
  bool compiles_statements = false;  ///< jit is on in our sessions because a pooler ignores our settings
  bool waits_without_limit = false;  ///< likewise: no limit on waiting for locks or for a client that is gone
  std::string isolation;             ///< of our transactions; a pooler may ignore our setting
  std::vector<std::string> unsafe;   ///< settings that are off although a crash may then lose data: `fsync`
  Pooler pooler = Pooler::none;
  /// The pooler gives us server connections that lack our prepared statements.
  bool loses_prepared_statements = false;
};

/// Works before any migration. The second connection occupies a server connection, to see which server connection the
/// first gets meanwhile; both need `prepare: false`. Null: no search for a pooler.
ServerState inspect_server(inbox::Connection& first, inbox::Connection* second);

/// Rights that the daemon needs and this role lacks: `insert on event`. Requires a migrated schema.
std::vector<std::string> missing_rights(inbox::Connection& connection);

struct LibraryVersion {
  std::string name;
  std::string version;
};
std::vector<LibraryVersion> database_libraries();

}  // namespace inboxd::operations
