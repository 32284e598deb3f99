#include "inbox/migrations.hpp"

#include <algorithm>

#include "functions_and_views_release.hpp"
#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

/// Tells a migrator that waits for another from a database that hangs.
constexpr const char* max_lock_wait = "10s";
/// For a migration's lock on a table, for which all others queue. If it runs out, the migration is to be repeated.
constexpr const char* table_lock_timeout = "500ms";

Migration functions_and_views(int version, const std::string& schema) {
  // The version is part of the text, so that they are due again after each numbered migration.
  std::string sql = "-- Functions and views for migration " + std::to_string(version) + ".\n";
  for (std::size_t i = 0; i < embedded_functions_and_views_count; ++i) {
    sql += "\n" + with_schema(embedded_functions_and_views[i], schema);
  }
  return {version, "functions_and_views", std::move(sql), true};
}

/// `run` runs a statement, in a transaction or without.
template <class Run>
MigrationState state_by(const Run& run, const std::vector<Migration>& migrations) {
  const Migration& functions = migrations.back();
  MigrationState state;
  state.known = functions.version;
  state.applied = run(statements::migration_state, pqxx::params{})[0][0].template as<int>();
  if (state.newer()) return state;
  // Until the numbered migrations are applied, the table that records functions and views may not exist.
  state.functions_due = state.applied < state.known;
  if (!state.functions_due) {
    const pqxx::params parameters{functions.name, functions.sql, functions_and_views_release};
    const auto row = run(statements::repeatable_state, parameters)[0];
    state.functions_due = row[0].template as<bool>();
    state.functions_newer = row[1].template as<bool>();
  }
  return state;
}

MigrationState state_of(Connection::Access& access, const std::vector<Migration>& migrations) {
  return state_by([&](const Statement& statement,
                      const pqxx::params& parameters) { return access.run(statement, parameters, Effect::reads); },
                  migrations);
}

void record(Connection::Access& access, pqxx::work& tx, const Migration& migration) {
  if (migration.is_repeatable) {
    access.run_in(tx, statements::record_repeatable,
                  pqxx::params{migration.name, migration.sql, functions_and_views_release});
  } else {
    access.run_in(tx, statements::record_migration, pqxx::params{migration.version, migration.name, migration.sql});
  }
}

}  // namespace

base::Problem newer_than_program(const MigrationState& state) {
  return {"the database is at migration " + std::to_string(state.applied) + ", this inboxd knows only " +
          std::to_string(state.known) + ": run the newer version that migrated it"};
}

base::Problem migrations_due(const MigrationState& state, const std::string& schema) {
  return {"schema " + schema + " is at migration " + std::to_string(state.applied) + " of " +
          std::to_string(state.known) + (state.applied < state.known ? "" : ", its functions and views are outdated") +
          ": run `inboxd migrate`, or `inboxd run --migrate`"};
}

std::vector<Migration> known_migrations(const std::string& schema) {
  std::vector<Migration> out;
  for (std::size_t i = 0; i < embedded_migration_count; ++i) {
    const EmbeddedMigration& embedded = embedded_migrations[i];
    std::string sql = with_schema(embedded.sql, schema);
    // The statements that create the schema name it without a dot.
    const auto put = [&sql](const std::string& text, const std::string& with) {
      if (const auto at = sql.find(text); at != std::string::npos) sql.replace(at, text.size(), with);
    };
    put("to_regnamespace('inbox')", "to_regnamespace('" + schema + "')");
    put("create schema inbox;", "create schema " + schema + ";");
    out.push_back({embedded.version, embedded.name, std::move(sql)});
  }
  out.push_back(functions_and_views(out.back().version, schema));
  return out;
}

MigrationState migration_state(Connection& connection, const std::string& schema) {
  return state_of(connection.access(), known_migrations(schema));
}

std::vector<std::string> changed_migrations(Connection& connection, const std::string& schema) {
  const auto migrations = known_migrations(schema);
  ArrayParameter version{ArrayParameter::Type::int4}, sql{ArrayParameter::Type::text};
  for (const Migration& migration : migrations) {
    if (migration.is_repeatable) continue;
    version.add(migration.version);
    sql.add(migration.sql);
  }
  const pqxx::params known{version.finish(), sql.finish()};
  std::vector<std::string> out;
  for (const auto& row : connection.access().run(statements::changed_migrations, known, Effect::reads)) {
    out.push_back(row[0].as<std::string>());
  }
  if (state_of(connection.access(), migrations).functions_newer) out.push_back(migrations.back().name);
  return out;
}

std::string plan_of(Connection& connection, const std::string& schema, const Migration& migration) {
  pqxx::params parameters{migration.version, migration.name, migration.sql, schema};
  if (migration.is_repeatable) parameters.append(functions_and_views_release);
  const Statement& statement = migration.is_repeatable ? statements::plan_repeatable : statements::plan_migration;
  const auto rows = connection.access().run(statement, parameters, Effect::reads);
  return "begin;\nset local search_path = pg_catalog, pg_temp;\n" + rows[0][0].as<std::string>() + migration.sql +
         rows[0][1].as<std::string>() + "commit;\n";
}

base::Result<MigrationState> migrate(Connection& connection, const std::string& schema,
                                     const std::function<void(const Migration&)>& progress) {
  auto& access = connection.access();
  const auto migrations = known_migrations(schema);
  MigrationState state = state_of(access, migrations);
  for (const Migration& migration : migrations) {
    if (state.newer()) return newer_than_program(state);
    if (!state.is_due(migration)) continue;
    access.transaction([&](pqxx::work& tx) {
      access.run_in(tx, statements::limit_lock_wait, pqxx::params{max_lock_wait});
      access.run_in(tx, statements::lock_migrations, pqxx::params{schema});
      // Another migrator may have applied it while this migrator waited for the lock.
      state = state_by([&](const Statement& statement,
                           const pqxx::params& parameters) { return access.run_in(tx, statement, parameters); },
                       migrations);
      if (!state.is_due(migration)) return false;
      progress(migration);
      access.run_in(tx, statements::set_lock_timeout, pqxx::params{table_lock_timeout});
      tx.exec(migration.sql).no_rows();
      record(access, tx, migration);
      return true;
    });
    if (migration.is_repeatable) {
      state.functions_due = false;
    } else {
      state.applied = std::max(state.applied, migration.version);
    }
  }
  return state.newer() ? base::Result<MigrationState>{newer_than_program(state)} : base::Result<MigrationState>{state};
}

// A block, because a pipeline takes single statements.
std::string all_migrations_at_once(const std::string& schema) {
  std::string sql;
  for (const Migration& migration : known_migrations(schema)) sql += migration.sql + "\n;\n";
  return "do $inboxd_block$ declare own text := pg_catalog.current_setting('search_path'); begin "
         "perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true); "
         "execute $inboxd_migrations$" + sql + "$inboxd_migrations$; "
         "perform pg_catalog.set_config('search_path', own, true); end $inboxd_block$";
}

void try_first_migration(Connection& connection, const std::string& schema) {
  auto& access = connection.access();
  access.transaction([&](pqxx::work& tx) {
    tx.exec(all_migrations_at_once(schema)).no_rows();
    return false;
  });
}

}  // namespace inboxd::inbox
