#pragma once
#include <cstddef>

namespace inboxd::inbox {

/// A file of sql/queries: its name is the prepared statement's. The connection fills in the schema.
struct Statement {
  const char* name;
  const char* sql;
};

/// A file of sql/migrations.
struct EmbeddedMigration {
  int version;
  const char* name;
  const char* sql;
};
extern const EmbeddedMigration embedded_migrations[];
extern const std::size_t embedded_migration_count;

/// The files of sql/functions and sql/views, in the order in which they are applied.
extern const char* const embedded_functions_and_views[];
extern const std::size_t embedded_functions_and_views_count;

}  // namespace inboxd::inbox
