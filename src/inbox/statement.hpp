#pragma once
#include <cstddef>

namespace inboxd::inbox {

/// One file of sql/queries: its name is the prepared statement's. The schema is filled in by the connection.
struct Statement {
  const char* name;
  const char* sql;
};

/// One file of sql/migrations.
struct EmbeddedMigration {
  int version;
  const char* name;
  const char* sql;
};
extern const EmbeddedMigration embedded_migrations[];
extern const std::size_t embedded_migration_count;

}  // namespace inboxd::inbox
