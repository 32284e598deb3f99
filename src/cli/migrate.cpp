#include <ostream>

#include "admin/failure.hpp"
#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "inbox/database_error.hpp"
#include "inbox/migrations.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;

/// What the command works with.
struct Work {
  Session& session;
  inbox::Connection& connection;
  std::string schema;
};

std::vector<inbox::Migration> due_migrations(const Work& work, const inbox::MigrationState& state) {
  auto out = inbox::known_migrations(work.schema);
  std::erase_if(out, [&](const auto& migration) { return migration.version <= state.applied; });
  return out;
}

admin::Document document_of(const inbox::MigrationState& state, const std::vector<inbox::Migration>& due) {
  admin::Document names = admin::Document::array();
  for (const auto& migration : due) names.push_back(migration.name);
  return {{"applied", state.applied}, {"known", state.known}, {"due", std::move(names)}};
}

std::string summary(const inbox::MigrationState& state) {
  return "at migration " + std::to_string(state.applied) + " of " + std::to_string(state.known);
}

/// Migrations that are not what was applied; says so.
std::vector<std::string> changed(const Work& work, const inbox::MigrationState& state) {
  if (state.applied == 0) return {};
  auto names = inbox::changed_migrations(work.connection, work.schema);
  for (const std::string& name : names) {
    work.session.say("migrate: " + name + " was applied with another text than this program's: another build's");
  }
  return names;
}

ExitCode check(const Work& work, const inbox::MigrationState& state) {
  const auto due = due_migrations(work, state);
  const auto others = changed(work, state);
  auto document = document_of(state, due);
  document["changed"] = others;
  if (work.session.json)
    work.session.print(document);
  else work.session.output.out << summary(state) << '\n';
  if (state.newer()) work.session.say("migrate: " + inbox::newer_than_program(state).message);
  for (const auto& migration : due) work.session.say("migrate: " + migration.name + " is due");
  return state.due() || state.newer() || !others.empty() ? ExitCode::no : ExitCode::done;
}

ExitCode plan(const Work& work, const inbox::MigrationState& state) {
  if (state.newer()) {
    work.session.say("migrate: " + inbox::newer_than_program(state).message);
    return ExitCode::no;
  }
  const auto due = due_migrations(work, state);
  const auto text_of = [&](const auto& migration) { return inbox::plan_of(work.connection, work.schema, migration); };
  if (work.session.json) {
    auto document = document_of(state, due);
    document["sql"] = admin::Document::array();
    for (const auto& migration : due) document["sql"].push_back(text_of(migration));
    work.session.print(document);
    return ExitCode::done;
  }
  for (const auto& migration : due) {
    work.session.output.out << "-- " << migration.name << '\n' << text_of(migration);
  }
  if (due.empty()) work.session.say("migrate: nothing is due, " + summary(state));
  return ExitCode::done;
}

ExitCode apply(const Work& work) {
  admin::Document done = admin::Document::array();
  const auto after = inbox::migrate(work.connection, work.schema, [&](const inbox::Migration& migration) {
    done.push_back(migration.name);
    work.session.say("migrate: applying " + migration.name);
  });
  if (!after) {
    work.session.say("migrate: " + after.problem().message);
    return ExitCode::no;
  }
  if (work.session.json) {
    auto document = document_of(after.value(), {});
    document["migrated"] = std::move(done);
    work.session.print(document);
  } else {
    work.session.output.out << summary(after.value()) << '\n';
  }
  return ExitCode::done;
}

ExitCode migrate(Session& session, const admin::Arguments& arguments) {
  if (arguments.flag("plan") && arguments.flag("check")) {
    session.say("migrate: --plan or --check, not both");
    return ExitCode::usage;
  }
  const auto loaded = session.load();
  if (!loaded) return ExitCode::configuration;
  auto log = command_log();
  inbox::Watchdog watchdog;
  inbox::Connection connection{loaded->settings.database, "migrate", watchdog, log};
  const Work work{session, connection, loaded->settings.database.schema};
  try {
    if (!arguments.flag("plan") && !arguments.flag("check")) return apply(work);
    const auto state = inbox::migration_state(connection, work.schema);
    return arguments.flag("check") ? check(work, state) : plan(work, state);
  } catch (...) {
    const auto answer = admin::answer_for(inbox::describe(std::current_exception()), connection.where());
    session.say("migrate: " + answer.message);
    return answer.code;
  }
}

}  // namespace

Command migrate_command() {
  using Kind = admin::Parameter::Kind;
  return {
      "migrate",
      "Brings the database's schema up to date; may run while daemons do, and several times at once.",
      {{"migrate", "applies what is due"},
       {"migrate --plan > plan.sql", "prints the SQL for somebody else to apply: psql -v ON_ERROR_STOP=1 -f plan.sql"},
       {"migrate --check", "exit status 1 where something is due"}},
      {{"plan", Kind::flag, "print the SQL that is due, change nothing; exit with 1 where the database is newer"},
       {"check", Kind::flag, "exit with 1 where something is due, or was applied as another text, change nothing"}},
      true,
      migrate};
}

}  // namespace inboxd::cli
