#include "inbox/operations_status.hpp"

#include "inbox/connection_access.hpp"
#include "inbox/operations_rows.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {


// Where counting stops, so that `status` stays quick whatever has piled up.
constexpr std::int64_t most_runs = 12'000;
constexpr std::int64_t most_letters = 100'000;
constexpr std::int64_t most_quarantined = 100'000;

HandlerState read_handler(RowReader row) {
  HandlerState out;
  out.handler_id = row.int4();
  out.name = row.text();
  out.mode = row.text();
  out.topics = row.texts();
  out.types = row.texts();
  out.started_from = row.text();
  out.paused_reason = row.maybe_text();
  out.retired_at = row.maybe_int8();
  out.due.number = row.int8();
  out.due.at_least = row.flag();
  out.leased.number = row.int8();
  out.retrying.number = row.int8();
  out.waiting.number = row.int8();
  const bool later_cut = row.flag();
  out.leased.at_least = out.retrying.at_least = later_cut;
  out.waiting.at_least = later_cut && out.waiting.number > 0;
  out.dead.number = row.int8();
  out.dead.at_least = row.flag();
  if (const auto age = row.maybe_int8()) out.oldest_due_age = std::chrono::microseconds{*age};
  if (const auto age = row.maybe_int8()) out.oldest_retrying_age = std::chrono::microseconds{*age};
  out.backfill = row.int8();
  return out;
}

}  // namespace

std::vector<HandlerState> read_handlers(Connection& connection) {
  std::vector<HandlerState> out;
  for (const auto& row :
       look(connection, statements::op_backlog, pqxx::params{most_runs, most_letters})) {
    out.push_back(read_handler(RowReader{row}));
  }
  return out;
}

std::vector<InstanceState> read_instances(Connection& connection) {
  std::vector<InstanceState> out;
  for (const auto& found : look(connection, statements::op_instances, pqxx::params{})) {
    RowReader row{found};
    InstanceState instance;
    instance.instance_id = row.uuid();
    instance.worker.host = row.text();
    instance.version = row.text();
    instance.worker.process_id = row.int4();
    instance.started_at = row.int8();
    instance.last_seen_at = row.int8();
    instance.unseen = std::chrono::microseconds{row.int8()};
    instance.trouble = row.maybe_text();
    out.push_back(std::move(instance));
  }
  return out;
}

Count count_quarantined(Connection& connection) {
  const auto rows =
      look(connection, statements::op_quarantine_count, pqxx::params{most_quarantined});
  const auto number = rows[0][0].as<std::int64_t>();
  return {number, number == most_quarantined};
}

}  // namespace inboxd::inbox
