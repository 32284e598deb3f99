#include "operations/handler_queries.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/routing_lock.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {

std::optional<HandlerPending> find_pending(inbox::Connection& connection, const std::string& handler,
                                           std::chrono::seconds seen_within) {
  const auto rows =
      inbox::run_read(connection, inbox::statements::op_handler_pending, pqxx::params{handler, seen_within.count()});
  if (rows.empty()) return std::nullopt;
  inbox::RowReader row{rows[0]};
  return HandlerPending{row.int4(), row.flag(), row.int8(), row.int8(), row.texts()};
}

std::optional<WindowToClose> close_window(inbox::Connection& connection, const std::string& handler,
                                          const std::string& actor, bool asks, std::chrono::seconds seen_within) {
  const auto rows = connection.access().run(inbox::statements::op_window_ask,
                                            pqxx::params{handler, actor, asks, seen_within.count()});
  if (rows.empty()) return std::nullopt;
  inbox::RowReader row{rows[0]};
  return WindowToClose{row.text(), row.int8(), row.flag(), row.texts()};
}

std::optional<std::string> present_handler_name(inbox::Connection& connection, const std::string& name) {
  const auto rows = inbox::run_read(connection, inbox::statements::op_handler_called, pqxx::params{name});
  return rows[0][0].as<std::optional<std::string>>();
}

bool pause_handler(inbox::Connection& connection, const std::string& handler, const std::string& reason,
                   const std::string& actor) {
  return connection.access()
      .run(inbox::statements::op_handler_pause, pqxx::params{handler, reason, actor})[0][0]
      .as<bool>();
}

std::string resume_handler(inbox::Connection& connection, const std::string& handler, const std::string& actor) {
  return connection.access()
      .run(inbox::statements::op_handler_resume, pqxx::params{handler, actor})[0][0]
      .as<std::string>();
}

void retire_handler(inbox::Connection& connection, const HandlerPending& pending, const std::string& actor) {
  auto& access = connection.access();
  access.transaction([&](pqxx::work& tx) {
    inbox::lock_routing(access, tx);
    const auto version = access.run_in(tx, inbox::statements::next_routing_version, {})[0][0].as<std::int64_t>();
    const pqxx::params parameters{pending.handler_id, actor, pending.events, pending.backfill, version};
    return !access.run_in(tx, inbox::statements::op_handler_retire, parameters).empty();
  });
}

bool restore_handler(inbox::Connection& connection, std::int32_t handler_id, const std::string& actor) {
  auto& access = connection.access();
  bool is_restored = false;
  access.transaction([&](pqxx::work& tx) {
    inbox::lock_routing(access, tx);
    const auto version = access.run_in(tx, inbox::statements::next_routing_version, {})[0][0].as<std::int64_t>();
    return is_restored = inbox::restore_handler(access, tx, handler_id, actor, version);
  });
  return is_restored;
}

DroppedDeliveries drop_pending(inbox::Connection& connection, std::int32_t handler_id, int rows) {
  const auto gone =
      connection.access().run(inbox::statements::op_handler_delete_pending, pqxx::params{handler_id, rows});
  inbox::RowReader row{gone[0]};
  return {row.int8(), row.int8()};
}

}  // namespace inboxd::operations
