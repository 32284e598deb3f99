#include "operations/server_queries.hpp"

#include <poll.h>

#include <memory>
#include <optional>

#include "inbox/connection_access.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Effect = inbox::Connection::Access::Effect;
using Clock = std::chrono::steady_clock;

constexpr auto pooler_patience = std::chrono::seconds{3};
constexpr const char* probe = "inboxd_check";

struct ServerRow {
  ServerState state;
  int backend = 0;
};

ServerRow read_server(inbox::RowReader row) {
  ServerRow out;
  out.state.version_number = row.int4();
  out.state.version = row.text();
  out.backend = row.int4();
  out.state.user = row.text();
  out.state.has_schema = row.flag();
  out.state.compiles_statements = row.flag();
  out.state.waits_without_limit = row.flag();
  out.state.isolation = row.text();
  out.state.unsafe = row.texts();
  return out;
}

/// The result of the statement just sent; null if none comes in time, as from a pool without a free connection.
std::shared_ptr<PGresult> await_result(PGconn* raw) {
  const auto deadline = Clock::now() + pooler_patience;
  while (PQisBusy(raw) == 1) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd socket{PQsocket(raw), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&socket, 1, static_cast<int>(left.count())) <= 0) return nullptr;
    if (PQconsumeInput(raw) != 1) return nullptr;
  }
  std::shared_ptr<PGresult> result{PQgetResult(raw), PQclear};
  while (PGresult* const rest = PQgetResult(raw)) PQclear(rest);
  return result;
}

/// The backend that now runs the prepared statement; 0: unknown there; nullopt: no answer.
std::optional<int> backend_of_probe(PGconn* raw) {
  if (PQsendQueryPrepared(raw, probe, 0, nullptr, nullptr, nullptr, 0) != 1) return std::nullopt;
  const auto result = await_result(raw);
  if (result == nullptr) return std::nullopt;
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) return 0;
  return std::stoi(PQgetvalue(result.get(), 0, 0));
}

/// Compares the first connection's backend before and during a transaction of the second.
void look_at_pooler(inbox::Connection& first, inbox::Connection& second, ServerState& state) {
  PGconn* const raw = first.access().raw;
  state.pooler = Pooler::session;
  const std::shared_ptr<PGresult> prepared{PQprepare(raw, probe, "select pg_backend_pid()", 0, nullptr), PQclear};
  const auto before = backend_of_probe(raw);
  auto& other = second.access();
  other.transaction([&](pqxx::work& tx) {
    const int busy =
        read_server(inbox::RowReader{other.run_in(tx, inbox::statements::op_server, pqxx::params{})[0]}).backend;
    const auto meanwhile = backend_of_probe(raw);
    if (busy == before || meanwhile != before) state.pooler = Pooler::transaction;
    state.loses_prepared_statements = meanwhile == 0;
    return false;
  });
  first.close();  // drops the prepared probe
}

}  // namespace

ServerState inspect_server(inbox::Connection& first, inbox::Connection* second) {
  auto found =
      read_server(inbox::RowReader{first.access().run(inbox::statements::op_server, pqxx::params{}, Effect::reads)[0]});
  const bool is_direct = found.backend == PQbackendPID(first.access().raw);
  if (!is_direct && second != nullptr) look_at_pooler(first, *second, found.state);
  return found.state;
}

std::vector<std::string> missing_rights(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_rights, {}, [](auto row) { return row.text(); });
}

std::vector<LibraryVersion> database_libraries() {
  const int pq = PQlibVersion();
  return {{"libpqxx", PQXX_VERSION}, {"libpq", std::to_string(pq / 10000) + "." + std::to_string(pq % 10000)}};
}

}  // namespace inboxd::operations
