#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// One numbered file of sql/migrations, with the schema's name filled in.
struct Migration {
  int version = 0;
  std::string name;
  std::string sql;
};

/// Everything this program knows, in order.
std::vector<Migration> known_migrations(const std::string& schema);

/// Where a database stands: applied < known: due; a version we do not know: newer than the program.
struct MigrationState {
  int applied = 0;
  int known = 0;
  bool due() const { return applied < known; }
  bool newer() const { return applied > known; }
};
MigrationState migration_state(Connection& connection, const std::string& schema);
/// What to say of a database that is newer.
base::Problem newer_than_program(const MigrationState& state);

/// Names of applied migrations whose text is another one than this program's: another build has made the schema, and
/// its statements may not be ours. Where something is applied at all.
std::vector<std::string> changed_migrations(Connection& connection, const std::string& schema);

/// The SQL of a whole migration for somebody else to apply, after those before it: a transaction, with the lock that
/// migrators take, and the note that it is applied. Refuses where it is not its turn.
std::string plan_of(Connection& connection, const std::string& schema, const Migration& migration);

/// Applies what is due, each migration in a transaction of its own under a lock that works through a transaction
/// pooler, so that several starters are safe. `progress` is called before each. Refuses a database that is newer.
base::Result<MigrationState> migrate(Connection& connection, const std::string& schema,
                                     const std::function<void(const Migration&)>& progress);

}  // namespace inboxd::inbox
