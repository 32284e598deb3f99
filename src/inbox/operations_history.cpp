#include "inbox/operations_history.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/operations_rows.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {


std::optional<Worker> read_worker(RowReader& row) {
  const auto host = row.maybe_text();
  const auto process_id = row.maybe_int4();
  if (!host) return std::nullopt;
  return Worker{*host, process_id.value_or(0)};
}

OpenDelivery read_delivery(RowReader row) {
  OpenDelivery out;
  out.handler = row.text();
  out.attempts = row.int4();
  out.claims = row.int4();
  out.is_leased = row.flag();
  out.due_at = row.int8();
  out.is_due = row.flag();
  out.owner = read_worker(row);
  out.last_error = row.maybe_text();
  out.events = row.int4();
  out.paused_reason = row.maybe_text();
  return out;
}

RecordedOutcome read_outcome(RowReader row) {
  RecordedOutcome out;
  out.handler = row.text();
  out.outcome = row.text();
  out.attempts = row.int4();
  out.finished_at = row.int8();
  out.owner = read_worker(row);
  return out;
}

RecordedFailure read_failure(RowReader row) {
  RecordedFailure out;
  out.handler = row.text();
  out.attempt = row.int4();
  out.occurred_at = row.int8();
  out.error_class = row.text();
  out.message = row.text();
  out.duration = std::chrono::microseconds{row.int8()};
  return out;
}

Note read_note(RowReader row) {
  Note out;
  out.what = row.text();
  out.who = row.text();
  out.at = row.int8();
  return out;
}

template <class Read>
auto read_all(Connection& connection, const Statement& statement, const pqxx::params& parameters, Read read) {
  std::vector<decltype(read(RowReader{pqxx::row{}}))> out;
  for (const auto& row : look(connection, statement, parameters)) {
    out.push_back(read(RowReader{row}));
  }
  return out;
}

}  // namespace

EventHistory read_history(Connection& connection, const HistoryRequest& request) {
  const std::string id = request.event_id.text();
  const pqxx::params of_run{request.shard_id, request.offset, request.received_at, id};
  const pqxx::params of_place{request.shard_id, request.offset, request.since};
  const pqxx::params of_event{id, request.since};
  return {read_all(connection, statements::op_event_deliveries, of_run, read_delivery),
          read_all(connection, statements::op_event_outcomes, of_place, read_outcome),
          read_all(connection, statements::op_event_failures, of_event, read_failure),
          read_all(connection, statements::op_event_notes, of_event, read_note)};
}

}  // namespace inboxd::inbox
