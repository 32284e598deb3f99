#include "operations/status_queries.hpp"

#include <algorithm>

#include "inbox/connection_access.hpp"
#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

// Limits of counting: `status` stays quick with any backlog.
constexpr std::int64_t max_runs = 12'000;
constexpr std::int64_t max_letters = 100'000;
constexpr std::int64_t max_quarantined = 100'000;
constexpr std::int64_t max_messages = 100'000;
/// Of the last hour, and of blocked keys.
constexpr std::int64_t max_recent_rows = 10'000;
constexpr std::int64_t max_suspects = 3;

Count count_of_messages(std::int64_t number) { return {number, number >= max_messages}; }

HandlerState read_handler(const pqxx::row& found) {
  inbox::RowReader row{found};
  HandlerState out;
  out.handler_id = row.int4();
  out.name = row.text();
  out.mode = row.text();
  out.topics = row.texts();
  out.types = row.texts();
  out.started_from = row.text();
  if (row.flag()) out.paused_reason = hidden_reason;
  out.has_paused_itself = row.flag();
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
  out.parked = row.int8();
  out.dead.number -= out.parked;
  out.held_by_gone = row.int8();
  out.held_until = row.maybe_int8();
  out.next_deliver_at = row.maybe_int8();
  if (!row.flag()) return out;
  out.window = read_row(found, columns::window);
  return out;
}

}  // namespace

std::vector<HandlerState> read_handlers(inbox::Connection& connection) {
  const pqxx::params parameters{max_runs, max_letters, static_cast<int>(live_within.count())};
  std::vector<HandlerState> out;
  for (const auto& row : inbox::run_read(connection, inbox::statements::op_backlog, parameters)) {
    out.push_back(read_handler(row));
  }
  return out;
}

Count HandlerState::pending() const {
  Count out{backfill, false};
  for (const Count& count : {due, leased, retrying, waiting}) {
    out.number += count.number;
    out.at_least = out.at_least || count.at_least;
  }
  return out;
}

QuarantineState count_quarantined(inbox::Connection& connection) {
  QuarantineState out;
  out.groups =
      read_all(connection, inbox::statements::op_quarantine_count, pqxx::params{max_quarantined}, [](auto row) {
        return QuarantineGroup{row.text(), row.text(), row.int8()};
      });
  for (const QuarantineGroup& group : out.groups) out.total.number += group.records;
  out.total.at_least = out.total.number == max_quarantined;
  return out;
}

OutboxState read_outbox_state(inbox::Connection& connection) {
  inbox::RowReader row{inbox::run_read(connection, inbox::statements::op_outbox_state, pqxx::params{max_messages})[0]};
  OutboxState out;
  out.backlog = count_of_messages(row.int8());
  if (const auto age = row.maybe_int8()) out.oldest_age = std::chrono::microseconds{*age};
  out.stopped = count_of_messages(row.int8());
  out.waiting = count_of_messages(row.int8());
  return out;
}

bool InstanceState::has(std::int32_t handler_id) const {
  return is_live() && std::ranges::find(handlers, handler_id) != handlers.end();
}

std::vector<InstanceState> read_instances(inbox::Connection& connection) {
  std::vector<InstanceState> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_instances, pqxx::params{})) {
    inbox::RowReader row{found};
    InstanceState instance;
    instance.instance_id = row.uuid();
    instance.worker.host = row.text();
    instance.version = row.text();
    instance.worker.process_id = row.int4();
    instance.started_at = row.int8();
    instance.last_seen_at = row.int8();
    instance.unseen = std::chrono::microseconds{row.int8()};
    instance.trouble = row.maybe_text();
    for (const std::string& id : row.texts()) instance.handlers.push_back(std::stoi(id));
    instance.topics = row.texts();
    instance.configuration = row.maybe_text();
    instance.partitions = row.int4();
    if (const auto unseen = row.maybe_int8()) instance.brokers_unseen = std::chrono::microseconds{*unseen};
    out.push_back(std::move(instance));
  }
  return out;
}

std::map<std::int32_t, EndedInstance> read_ended_instances(inbox::Connection& connection) {
  std::map<std::int32_t, EndedInstance> out;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_ended, pqxx::params{live_within.count()})) {
    inbox::RowReader row{found};
    EndedInstance& ended = out[row.int4()];
    ended.worker.host = row.text();
    ended.worker.process_id = row.int4();
    ended.last_seen_at = row.int8();
  }
  return out;
}

std::vector<DeadGrowth> read_dead_growth(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_dead_recent, pqxx::params{max_recent_rows}, [](auto row) {
    return DeadGrowth{row.int4(), row.int8(), row.int8(), row.int8(), row.int8(), row.text(), row.int8(), ""};
  });
}

std::vector<QuarantineGrowth> read_quarantine_growth(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_quarantine_recent, pqxx::params{max_recent_rows, max_recent_rows},
                  [](auto row) {
                    QuarantineGrowth out{row.text(), row.int8(), row.int8(), row.text(), ""};
                    out.stored = row.int8();
                    return out;
                  });
}

std::vector<ExpiredTopic> read_expired_topics(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_expired_recent, pqxx::params{max_recent_rows}, [](auto row) {
    return ExpiredTopic{row.int4(), row.text(), row.int8(), row.int8(), row.int8()};
  });
}

std::vector<BlockedKeys> read_blocked_keys(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_blocked, pqxx::params{max_recent_rows}, [](auto row) {
    BlockedKeys out{row.int4(), row.int8(), row.int8(), std::nullopt, ""};
    out.received_at = row.int8();
    return out;
  });
}

std::vector<SuspectState> read_suspects(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_suspects, pqxx::params{max_suspects}, [](auto row) {
    return SuspectState{row.text(), row.text(), row.int4(), row.int8(),
                        row.int4(), row.int4(), row.maybe_text().value_or("")};
  });
}

}  // namespace inboxd::operations
