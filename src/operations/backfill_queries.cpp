#include "operations/backfill_queries.hpp"

#include "inbox/connection_access.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {

std::optional<BackfillState> find_backfill(inbox::Connection& connection, const std::string& handler,
                                           std::chrono::seconds seen_within) {
  const auto rows =
      inbox::run_read(connection, inbox::statements::op_backfill_find, pqxx::params{handler, seen_within.count()});
  if (rows.empty()) return std::nullopt;
  inbox::RowReader row{rows[0]};
  return BackfillState{row.int4(), row.flag(), row.texts(), row.flag(), row.flag(),
                       row.int8(), row.int8(), row.int8(),  row.int8()};
}

std::int64_t count_offsets(inbox::Connection& connection, const BackfillRequest& request) {
  const pqxx::params parameters{request.handler_id, request.from, request.to, array_parameter(request.topics)};
  return inbox::run_read(connection, inbox::statements::op_backfill_plan, parameters)[0][0].as<std::int64_t>();
}

std::optional<std::int64_t> request_backfill(inbox::Connection& connection, const BackfillRequest& request,
                                             const std::string& actor, const std::string& asked) {
  const pqxx::params parameters{request.handler_id,
                                request.from,
                                request.to,
                                array_parameter(request.topics),
                                array_parameter(request.types),
                                request.again,
                                request.rate,
                                actor,
                                asked};
  const auto rows = connection.access().run(inbox::statements::op_backfill_request, parameters);
  return rows.empty() ? std::nullopt : std::optional{rows[0][0].as<std::int64_t>()};
}

bool cancel_backfill(inbox::Connection& connection, std::int32_t handler_id, const std::string& actor) {
  return !connection.access().run(inbox::statements::op_backfill_cancel, pqxx::params{handler_id, actor}).empty();
}

}  // namespace inboxd::operations
