#include <ostream>

#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "inbox/database_error.hpp"
#include "operations/migration_report.hpp"
#include "operations/operation.hpp"

namespace inboxd::cli {
namespace {

using base::ExitCode;

/// Session, connection and schema of a call.
struct Work {
  Session& session;
  inbox::Connection& connection;
  std::string schema;
};

std::string summary(const operations::Document& document) {
  return "at migration " + document.at("applied").dump() + " of " + document.at("known").dump();
}

ExitCode check(const Work& work) {
  const auto answer = operations::look_at_migrations(work.connection, work.schema, false);
  if (work.session.json)
    work.session.print(answer.document);
  else
    work.session.output.out << summary(answer.document) << '\n';
  if (!answer.message.empty()) work.session.say("migrate: " + answer.message);
  for (const auto& name : answer.document.at("changed")) {
    work.session.say("migrate: " + name.get<std::string>() +
                     " was applied with another text: another build of inboxd made this schema; "
                     "ignore it during a rolling deploy");
  }
  for (const auto& name : answer.document.at("due")) {
    work.session.say("migrate: " + name.get<std::string>() + " is due");
  }
  return answer.code;
}

ExitCode plan(const Work& work) {
  const auto answer = operations::look_at_migrations(work.connection, work.schema, true);
  if (!answer.message.empty()) {
    work.session.say("migrate: " + answer.message);
    return ExitCode::no;
  }
  if (work.session.json) {
    work.session.print(answer.document);
    return ExitCode::done;
  }
  const auto& due = answer.document.at("due");
  for (std::size_t i = 0; i < due.size(); ++i) {
    work.session.output.out << "-- " << due[i].get<std::string>() << '\n'
                            << answer.document.at("sql")[i].get<std::string>();
  }
  if (due.empty()) work.session.say("migrate: nothing is due, " + summary(answer.document));
  return ExitCode::done;
}

ExitCode apply(const Work& work) {
  operations::Document done = operations::Document::array();
  const auto after = inbox::migrate(work.connection, work.schema, [&](const inbox::Migration& migration) {
    done.push_back(migration.name);
    work.session.say("migrate: applying " + migration.name);
  });
  if (!after) {
    work.session.say("migrate: " + after.problem().message);
    return ExitCode::no;
  }
  auto document = operations::document_of(after.value(), {});
  document["migrated"] = std::move(done);
  if (work.session.json)
    work.session.print(document);
  else
    work.session.output.out << summary(document) << '\n';
  return ExitCode::done;
}

ExitCode migrate(Session& session, const operations::Arguments& arguments) {
  if (arguments.flag("plan") && arguments.flag("check")) {
    session.say("migrate: pass --plan or --check, not both");
    return ExitCode::usage;
  }
  const auto loaded = session.load_with([](std::string_view key) { return key.starts_with("database."); });
  if (!loaded) return ExitCode::configuration;
  auto log = command_log();
  inbox::Watchdog watchdog;
  inbox::Connection connection{loaded->settings.database, "migrate", watchdog, log};
  const Work work{session, connection, loaded->settings.database.schema};
  try {
    if (!arguments.flag("plan") && !arguments.flag("check")) return apply(work);
    return arguments.flag("check") ? check(work) : plan(work);
  } catch (...) {
    const auto answer = operations::answer_for(inbox::describe(std::current_exception()), connection.where());
    session.say("migrate: " + answer.message);
    return answer.code;
  }
}

}  // namespace

Command migrate_command() {
  using Kind = operations::Parameter::Kind;
  return {"migrate",
          "Brings the database's schema up to date. May run at the same time as daemons and other migrations.",
          {{"migrate", "applies due migrations, functions and views"},
           {"migrate --plan > plan.sql", "prints the SQL, to be applied by: psql -v ON_ERROR_STOP=1 -f plan.sql"},
           {"migrate --check", "exit status 1 if something is due"}},
          {{"plan", Kind::flag, "print the due SQL, change nothing; exit with 1 if the database is newer"},
           {"check", Kind::flag, "exit with 1 if something is due or was applied with another text; change nothing"}},
          migrate};
}

}  // namespace inboxd::cli
