#include "operations/check.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/handler_registration.hpp"
#include "inbox/migrations.hpp"
#include "operations/check_shards.hpp"
#include "operations/handler_agreement.hpp"
#include "operations/ledger_queries.hpp"
#include "operations/server_queries.hpp"

namespace inboxd::operations {
namespace {

using Kind = Finding::Kind;

constexpr int oldest_server = 140'000;
constexpr const char* database = "database";

Finding version_of(const ServerState& server) {
  if (server.version_number < oldest_server) {
    return {Kind::problem, database, "PostgreSQL " + server.version + " is too old; 14 or newer is needed"};
  }
  return {Kind::good, database, "PostgreSQL " + server.version + ", as " + server.user};
}

Finding pooler_of(const ServerState& server, bool prepares) {
  if (server.pooler == Pooler::none) return {Kind::good, database, "no connection pooler"};
  const std::string mode = server.pooler == Pooler::session ? "session" : "transaction";
  if (server.loses_prepared_statements && prepares) {
    return {Kind::problem, database,
            "behind a pooler in " + mode +
                " mode that loses prepared statements: set database.prepare: false, or use PgBouncer 1.21 or newer "
                "with max_prepared_statements"};
  }
  return {Kind::good, database, "behind a connection pooler in " + mode + " mode"};
}

/// What a start with this configuration takes from a live daemon.
void check_against(const config::Handler& own, const RegisteredHandler& running, FoundList& out) {
  const std::string subject = "handler " + own.name;
  const std::string daemon = name_of(running.worker);
  if (const auto lost = topics_without(running.own_topics, own.topics); !lost.empty()) {
    out.push_back({Kind::warning, subject,
                   daemon + " runs it with topics " + base::joined(lost) +
                       ", which this configuration lacks: a start takes their events from the handler on all "
                       "instances; give it another name, or stop that daemon"});
  }
  if (const auto order = config::order_text(own); order != running.own_order) {
    out.push_back({Kind::warning, subject,
                   daemon + " runs it in another order (" + running.own_order + "; here " + order +
                       "): after a start with this configuration only instances with this order run it"});
  }
}

void check_handlers(inbox::Connection& connection, const std::vector<config::Handler>& handlers, FoundList& out) {
  if (const auto clash = inbox::find_alias_clash(connection, handlers)) {
    out.push_back({Kind::problem, database, clash->message});
  }
  for (const auto& [place, name] : inbox::find_retired(connection, handlers)) {
    out.push_back({Kind::warning, "handler " + handlers[place].name,
                   "it is retired" + (name == handlers[place].name ? "" : " as " + name) +
                       " and does not run: `inboxd handlers restore " + name +
                       "`, or remove it from the configuration"});
  }
  for (const RegisteredHandler& running : read_registered(connection)) {
    const auto own = std::find_if(handlers.begin(), handlers.end(),
                                  [&](const auto& handler) { return handler.name == running.handler; });
    if (own != handlers.end()) check_against(*own, running, out);
  }
}

void check_schema(inbox::Connection& connection, const config::Settings& settings, FoundList& out) {
  const std::string& schema = settings.database.schema;
  const auto state = inbox::migration_state(connection, schema);
  const std::string at = "schema " + schema + " is at migration " + std::to_string(state.applied);
  if (state.newer()) {
    out.push_back({Kind::problem, database,
                   at + ", this inboxd knows only " + std::to_string(state.known) + ": run the newer inboxd"});
  } else if (state.due()) {
    out.push_back({Kind::problem, database, inbox::migrations_due(state, schema).message});
  } else {
    out.push_back({Kind::good, database, at});
    for (const auto& name : inbox::changed_migrations(connection, schema)) {
      out.push_back({Kind::warning, database,
                     "migration " + name + " was applied with another text: another build of inboxd made this schema; "
                     "ignore it during a rolling deploy"});
    }
    const auto missing = missing_rights(connection);
    for (const auto& right : missing) {
      out.push_back({Kind::problem, database,
                     "the role may not " + right + " in schema " + schema + "; sql/roles.sql grants the rights"});
    }
    if (!missing.empty()) return;
    check_handlers(connection, settings.handlers, out);
    const auto ledger = read_ledger(connection);
    for (const auto& advice : ledger_advice(ledger, settings.retention, settings.ledger.filter_bytes)) {
      out.push_back({Kind::warning, "ledger", advice});
    }
    check_own_shard(connection, settings, out);
  }
}

}  // namespace

FoundList check_database(const config::Settings& settings, inbox::Connection& first, inbox::Connection* second) {
  FoundList out;
  try {
    const auto server = inspect_server(first, second);
    out.push_back(version_of(server));
    if (second != nullptr) out.push_back(pooler_of(server, settings.database.prepare));
    if (server.compiles_statements) {
      out.push_back(
          {Kind::warning, database,
           "the server compiles statements (jit), which costs about 0.1 s each with many day partitions, and the "
           "pooler ignores our setting: alter role " +
               server.user + " set jit = off"});
    }
    if (server.waits_without_limit) {
      out.push_back(
          {Kind::warning, database,
           "its sessions have no limit on waiting for locks, for a client that is gone, or for an idle client that "
           "holds locks, and the pooler ignores our settings: alter role " +
               server.user + " set lock_timeout = '10s'; alter role " + server.user +
               " set client_connection_check_interval = '5s'; alter role " + server.user +
               " set idle_in_transaction_session_timeout = '10s'"});
    }
    for (const std::string& setting : server.unsafe) {
      out.push_back({Kind::warning, database,
                     setting + " is off: a crash of the server may lose events whose offsets are committed, or damage "
                               "tables; set " + setting + " = on"});
    }
    if (server.isolation != "read committed") {
      out.push_back({Kind::problem, database,
                     "transactions begin as " + server.isolation +
                         ", so they miss what others commit meanwhile, and the pooler ignores our setting: alter "
                         "role " +
                         server.user + " set default_transaction_isolation = 'read committed'"});
    }
    check_schema(first, settings, out);
  } catch (...) {
    const auto answer = answer_for(inbox::describe(std::current_exception()), first.where());
    const Kind kind = answer.code == base::ExitCode::unavailable   ? Kind::unreachable
                      : answer.code == base::ExitCode::not_allowed ? Kind::refused
                                                                   : Kind::problem;
    out.push_back({kind, database, answer.message.substr(std::string_view{"database "}.size())});
  }
  return out;
}

const char* name_of(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::good:
      return "ok";
    case Finding::Kind::warning:
      return "warning";
    case Finding::Kind::problem:
      return "problem";
    case Finding::Kind::refused:
      return "refused";
    case Finding::Kind::unreachable:
      return "unreachable";
  }
  return "problem";
}

Document document_of(const FoundList& findings) {
  Document list = Document::array();
  for (const Finding& finding : findings) {
    list.push_back({{"result", name_of(finding.kind)}, {"subject", finding.subject}, {"message", finding.message}});
  }
  return {{"ok", verdict_on(findings) == base::ExitCode::done}, {"findings", std::move(list)}};
}

base::ExitCode verdict_on(const FoundList& findings) {
  auto worst = Finding::Kind::good;
  for (const Finding& finding : findings) worst = std::max(worst, finding.kind);
  switch (worst) {
    case Finding::Kind::good:
    case Finding::Kind::warning:
      return base::ExitCode::done;
    case Finding::Kind::problem:
      return base::ExitCode::no;
    case Finding::Kind::refused:
      return base::ExitCode::not_allowed;
    case Finding::Kind::unreachable:
      return base::ExitCode::unavailable;
  }
  return base::ExitCode::no;
}

}  // namespace inboxd::operations
