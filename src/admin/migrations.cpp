#include "admin/migrations.hpp"

#include "admin/answers.hpp"
#include "admin/operations.hpp"

namespace inboxd::admin {
namespace {

Answer migrate(Context& context, const Arguments& arguments) {
  return look_at_migrations(*context.connection, context.schema, arguments.flag("plan"));
}

std::vector<inbox::Migration> due_migrations(const inbox::MigrationState& state, const std::string& schema) {
  auto out = inbox::known_migrations(schema);
  std::erase_if(out, [&](const auto& migration) { return migration.version <= state.applied; });
  return out;
}

}  // namespace

Document document_of(const inbox::MigrationState& state, const std::vector<inbox::Migration>& due) {
  Document names = Document::array();
  for (const auto& migration : due) names.push_back(migration.name);
  return {{"applied", state.applied}, {"known", state.known}, {"due", std::move(names)}};
}

Answer look_at_migrations(inbox::Connection& connection, const std::string& schema, bool sql) {
  const auto state = inbox::migration_state(connection, schema);
  const auto due = due_migrations(state, schema);
  const auto changed = state.applied == 0 ? std::vector<std::string>{} : inbox::changed_migrations(connection, schema);
  Document document = document_of(state, due);
  document["changed"] = changed;
  if (sql) {
    document["sql"] = Document::array();
    for (const auto& migration : due) document["sql"].push_back(inbox::plan_of(connection, schema, migration));
  }
  // Who asks for what is due is told, and all is well; but with a newer database there is nothing to tell.
  const bool is_as_it_should_be = !state.newer() && (sql || (!state.due() && changed.empty()));
  return {is_as_it_should_be ? base::ExitCode::done : base::ExitCode::no, std::move(document),
          state.newer() ? inbox::newer_than_program(state).message : ""};
}

std::vector<Operation> migration_operations() {
  return {{"migrate",
           "Which migrations the database has and which are due. Changes nothing: applying them takes the owner's "
           "rights, which a daemon should not have.",
           {{"migrate --check", "exit status 1 where something is due"}},
           Permission::read,
           Needs::database,
           {{"plan", Parameter::Kind::flag, "with the SQL that is due"}},
           migrate,
           answers::migrate,
           nullptr,
           true}};
}

}  // namespace inboxd::admin
