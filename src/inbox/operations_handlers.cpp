#include "inbox/operations_handlers.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/operations_rows.hpp"
#include "inbox/routing_lock.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
std::optional<HandlerOwed> find_owed(Connection& connection, const std::string& handler,
                                     std::chrono::seconds seen_within) {
  const auto rows = look(connection, statements::op_handler_owed, pqxx::params{handler, seen_within.count()});
  if (rows.empty()) return std::nullopt;
  RowReader row{rows[0]};
  HandlerOwed out;
  out.handler_id = row.int4();
  out.is_retired = row.flag();
  out.events = row.int8();
  out.backfill = row.int8();
  out.run_by = row.texts();
  return out;
}

void retire_handler(Connection& connection, const HandlerOwed& owed, const std::string& actor,
                    std::optional<std::chrono::seconds> unless_seen_within) {
  auto& access = connection.access();
  std::optional<std::int64_t> seconds;
  if (unless_seen_within) seconds = unless_seen_within->count();
  access.transaction([&](pqxx::work& tx) {
    lock_routing(access, tx);
    const pqxx::params parameters{owed.handler_id, actor, owed.events, owed.backfill, seconds};
    const bool retired = !access.run_in(tx, statements::op_handler_retire, parameters).empty();
    if (retired) access.run_in(tx, statements::next_routing_version, {});
    return retired;
  });
}

Forgotten forget_bite(Connection& connection, std::int32_t handler_id, int rows) {
  const auto gone = connection.access().run(statements::op_handler_forget, pqxx::params{handler_id, rows});
  RowReader row{gone[0]};
  Forgotten out;
  out.rows = row.int8();
  out.events = row.int8();
  return out;
}

}  // namespace inboxd::inbox
