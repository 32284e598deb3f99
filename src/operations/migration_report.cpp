#include "operations/migration_report.hpp"

#include "operations/operation_table.hpp"

namespace inboxd::operations {
namespace {

std::vector<inbox::Migration> due_migrations(const inbox::MigrationState& state, const std::string& schema) {
  auto out = inbox::known_migrations(schema);
  std::erase_if(out, [&](const auto& migration) { return !state.is_due(migration); });
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
  // The plan itself is the answer, even if something is due. A newer database has no plan.
  const bool is_done = !state.newer() && (sql || (!state.due() && changed.empty()));
  return {is_done ? base::ExitCode::done : base::ExitCode::no, std::move(document),
          state.newer() ? inbox::newer_than_program(state).message : ""};
}

Answer functions::migrate(Context& context, const Arguments& arguments) {
  return look_at_migrations(*context.connection, context.schema, arguments.flag("plan"));
}

}  // namespace inboxd::operations
