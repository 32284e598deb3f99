#include "admin/check.hpp"
#include "admin/failure.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/migrations.hpp"
#include "inbox/operations_check.hpp"
#include "inbox/operations_events.hpp"

namespace inboxd::admin {
namespace {

using Kind = Finding::Kind;

constexpr int oldest_server = 140'000;
constexpr const char* subject = "database";

Finding version_of(const inbox::ServerState& server) {
  if (server.version_number < oldest_server) {
    return {Kind::problem, subject, "PostgreSQL " + server.version + " is too old; 14 or newer is needed"};
  }
  return {Kind::good, subject, "PostgreSQL " + server.version + ", as " + server.user};
}

Finding pooler_of(const inbox::ServerState& server, bool prepares) {
  if (server.pooler == inbox::Pooler::none) return {Kind::good, subject, "no connection pooler between"};
  const std::string mode = server.pooler == inbox::Pooler::session ? "session" : "transaction";
  if (server.loses_prepared_statements && prepares) {
    return {Kind::problem, subject,
            "behind a pooler in " + mode +
                " mode that forgets prepared statements: set database.prepare: false (or PgBouncer 1.21 or newer with "
                "max_prepared_statements)"};
  }
  return {Kind::good, subject, "behind a connection pooler in " + mode + " mode"};
}

void check_schema(inbox::Connection& connection, const std::string& schema, FoundList& out) {
  const auto state = inbox::migration_state(connection, schema);
  const std::string at = "schema " + schema + " is at migration " + std::to_string(state.applied);
  if (state.newer()) {
    out.push_back({Kind::problem, subject,
                   at + ", this inboxd knows only " + std::to_string(state.known) + ": run the newer inboxd"});
  } else if (state.due()) {
    out.push_back({Kind::problem, subject,
                   at + " of " + std::to_string(state.known) + ": run `inboxd migrate`, or `inboxd run --migrate`"});
  } else {
    out.push_back({Kind::good, subject, at});
    for (const auto& name : inbox::changed_migrations(connection, schema)) {
      out.push_back({Kind::warning, subject,
                     "migration " + name + " was applied with another text than this program's: another build's"});
    }
    for (const auto& right : inbox::missing_rights(connection)) {
      out.push_back({Kind::problem, subject, "the role may not " + right + " in schema " + schema});
    }
  }
}

}  // namespace

FoundList check_database(const config::Settings& settings, inbox::Connection& first, inbox::Connection* second) {
  FoundList out;
  try {
    const auto server = inbox::inspect_server(first, second);
    out.push_back(version_of(server));
    if (server.encoding != "UTF8") {
      out.push_back({Kind::problem, subject,
                     "its encoding is " + server.encoding + "; events need a database with encoding UTF8"});
    }
    if (second != nullptr) out.push_back(pooler_of(server, settings.database.prepare));
    if (server.compiles_statements) {
      out.push_back({Kind::warning, subject,
                     "the server compiles statements (jit), which costs a tenth of a second each where there are many "
                     "day partitions, and the pooler does not let us turn it off: alter role " +
                         server.user + " set jit = off"});
    }
    if (server.waits_without_limit) {
      out.push_back({Kind::warning, subject,
                     "its sessions wait for locks without a limit, or after their client has gone, or keep locks while "
                     "their client stands still, and the pooler does not let us say otherwise: alter role " +
                         server.user + " set lock_timeout = '10s'; alter role " + server.user +
                         " set client_connection_check_interval = '5s'; alter role " + server.user +
                         " set idle_in_transaction_session_timeout = '10s'"});
    }
    if (server.isolation != "read committed") {
      out.push_back({Kind::problem, subject,
                     "transactions begin as " + server.isolation +
                         ", so that they do not see what others store meanwhile, and the pooler does not let us say "
                         "otherwise: alter role " +
                         server.user + " set default_transaction_isolation = 'read committed'"});
    }
    check_schema(first, settings.database.schema, out);
  } catch (...) {
    const auto answer = answer_for(inbox::describe(std::current_exception()), first.where());
    const Kind kind = answer.code == base::ExitCode::unavailable ? Kind::unreachable : Kind::problem;
    out.push_back({kind, subject, answer.message.substr(std::string_view{"database "}.size())});
  }
  return out;
}

}  // namespace inboxd::admin
