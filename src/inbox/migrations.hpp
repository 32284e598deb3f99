#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// A step of `inboxd migrate`, with the schema's name filled in: a numbered file of sql/migrations, or all functions
/// and views. The latter are repeatable: they are applied as a whole whenever their text has changed.
struct Migration {
  int version = 0;             ///< of functions and views: the numbered migration that they need
  std::string name;
  std::string sql;
  bool is_repeatable = false;
};

/// Everything that this program knows, in order: the numbered migrations, then the functions and views.
std::vector<Migration> known_migrations(const std::string& schema);

/// A database's migrations, compared with this program's. Counts are of numbered migrations.
struct MigrationState {
  int applied = 0;
  int known = 0;
  bool functions_due = false;    ///< functions and views were never applied, or with another text
  bool functions_newer = false;  ///< a newer build applied other functions; they stay
  bool due() const { return applied < known || functions_due; }
  bool newer() const { return applied > known; }
  bool is_due(const Migration& migration) const {
    return migration.is_repeatable ? functions_due : migration.version > applied;
  }
};
MigrationState migration_state(Connection& connection, const std::string& schema);
/// The refusal of a database that is newer.
base::Problem newer_than_program(const MigrationState& state);
/// The refusal of a schema with due migrations: where it is, and the remedy.
base::Problem migrations_due(const MigrationState& state, const std::string& schema);

/// Names of applied migrations whose text differs from this program's: another build made the schema, and may not fit
/// this program's statements. Functions and views only if a newer build applied them; otherwise they are due. Call it
/// only if some migration is applied.
std::vector<std::string> changed_migrations(Connection& connection, const std::string& schema);

/// The SQL of a whole migration, to be applied by psql after the earlier migrations: a transaction with the migrators'
/// lock and the record that it is applied. It fails if its turn has not come.
std::string plan_of(Connection& connection, const std::string& schema, const Migration& migration);

/// Applies due migrations, each in its own transaction, under a lock that works through a transaction pooler, so that
/// several instances may start at once. `progress` is called before each. Refuses a database that is newer.
base::Result<MigrationState> migrate(Connection& connection, const std::string& schema,
                                     const std::function<void(const Migration&)>& progress);

/// A statement that applies all migrations in the transaction of its caller, which rolls back: for checks before the
/// first migration. Locks nothing of others, as long as the schema is empty.
std::string all_migrations_at_once(const std::string& schema);
/// Runs it and rolls back.
void try_first_migration(Connection& connection, const std::string& schema);

}  // namespace inboxd::inbox
