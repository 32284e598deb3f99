#include "inbox/migrations.hpp"

#include "inbox/arrays.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

/// Whoever holds what a migration takes is told from a database that hangs.
constexpr const char* longest_lock_wait = "10s";
/// Of a migration for a table: everybody who comes behind it waits, too. It fails then, to be tried again.
constexpr const char* table_lock_timeout = "500ms";

int applied_version(const pqxx::result& rows) { return rows[0][0].as<int>(); }

}  // namespace

base::Problem newer_than_program(const MigrationState& state) {
  return {"the database is at migration " + std::to_string(state.applied) + ", this inboxd knows only " +
          std::to_string(state.known) + ": run the newer version that migrated it"};
}

std::vector<Migration> known_migrations(const std::string& schema) {
  std::vector<Migration> out;
  for (std::size_t i = 0; i < embedded_migration_count; ++i) {
    const EmbeddedMigration& embedded = embedded_migrations[i];
    std::string sql = with_schema(embedded.sql, schema);
    // The schema's own name stands alone where it is made.
    const auto put = [&sql](const std::string& text, const std::string& with) {
      if (const auto at = sql.find(text); at != std::string::npos) sql.replace(at, text.size(), with);
    };
    put("to_regnamespace('inbox')", "to_regnamespace('" + schema + "')");
    put("create schema inbox;", "create schema " + schema + ";");
    out.push_back({embedded.version, embedded.name, std::move(sql)});
  }
  return out;
}

MigrationState migration_state(Connection& connection, const std::string& schema) {
  MigrationState state;
  state.known = known_migrations(schema).back().version;
  state.applied = applied_version(connection.access().run(statements::migration_state, {}, Effect::reads));
  return state;
}

std::vector<std::string> changed_migrations(Connection& connection, const std::string& schema) {
  ArrayParameter version{ArrayParameter::Type::int4}, sql{ArrayParameter::Type::text};
  for (const Migration& migration : known_migrations(schema)) {
    version.add(migration.version);
    sql.add(migration.sql);
  }
  const pqxx::params known{version.finish(), sql.finish()};
  std::vector<std::string> out;
  for (const auto& row : connection.access().run(statements::changed_migrations, known, Effect::reads)) {
    out.push_back(row[0].as<std::string>());
  }
  return out;
}

std::string plan_of(Connection& connection, const std::string& schema, const Migration& migration) {
  const pqxx::params parameters{migration.version, migration.name, migration.sql, schema};
  const auto rows = connection.access().run(statements::plan_migration, parameters, Effect::reads);
  return "begin;\n" + rows[0][0].as<std::string>() + migration.sql + rows[0][1].as<std::string>() + "commit;\n";
}

base::Result<MigrationState> migrate(Connection& connection, const std::string& schema,
                                     const std::function<void(const Migration&)>& progress) {
  auto& access = connection.access();
  MigrationState state = migration_state(connection, schema);
  for (const Migration& migration : known_migrations(schema)) {
    if (state.newer()) return newer_than_program(state);
    if (migration.version <= state.applied) continue;
    access.transaction([&](pqxx::work& tx) {
      access.run_in(tx, statements::limit_lock_wait, pqxx::params{longest_lock_wait});
      access.run_in(tx, statements::lock_migrations, pqxx::params{schema});
      // Somebody else may have been faster while we waited for the lock.
      state.applied = applied_version(access.run_in(tx, statements::migration_state, {}));
      if (migration.version <= state.applied) return false;
      progress(migration);
      access.run_in(tx, statements::set_lock_timeout, pqxx::params{table_lock_timeout});
      tx.exec(migration.sql).no_rows();
      access.run_in(tx, statements::record_migration, pqxx::params{migration.version, migration.name, migration.sql});
      return true;
    });
    state.applied = std::max(state.applied, migration.version);
  }
  return state.newer() ? base::Result<MigrationState>{newer_than_program(state)} : base::Result<MigrationState>{state};
}

}  // namespace inboxd::inbox
