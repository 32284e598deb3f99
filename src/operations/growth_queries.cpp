#include "operations/growth_queries.hpp"

#include "inbox/connection_access.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

// Limits of counting: `status` stays quick whatever is stored.
constexpr std::int64_t most_letters = 10'000;
constexpr std::int64_t most_records = 10'000;
constexpr std::int64_t most_events = 10'000;
constexpr std::int64_t most_lane_rows = 10'000;

}  // namespace

std::vector<DeadGrowth> read_dead_growth(inbox::Connection& connection) {
  std::vector<DeadGrowth> out;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_dead_recent, pqxx::params{most_letters})) {
    inbox::RowReader row{found};
    DeadGrowth growth;
    growth.handler_id = row.int4();
    growth.letters = row.int8();
    growth.of_minute = row.int8();
    growth.of_ten_minutes = row.int8();
    growth.first_at = row.int8();
    growth.error_class = row.text();
    growth.of_class = row.int8();
    out.push_back(std::move(growth));
  }
  return out;
}

std::vector<QuarantineGrowth> read_quarantine_growth(inbox::Connection& connection) {
  std::vector<QuarantineGrowth> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_quarantine_recent,
                                           pqxx::params{most_records, most_events})) {
    inbox::RowReader row{found};
    QuarantineGrowth growth;
    growth.topic = row.text();
    growth.records = row.int8();
    growth.first_at = row.int8();
    growth.reason = row.text();
    growth.stored = row.int8();
    out.push_back(std::move(growth));
  }
  return out;
}

std::vector<ExpiredTopic> read_expired_topics(inbox::Connection& connection) {
  std::vector<ExpiredTopic> out;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_expired_recent, pqxx::params{most_letters})) {
    inbox::RowReader row{found};
    ExpiredTopic expired;
    expired.handler_id = row.int4();
    expired.topic = row.text();
    expired.events = row.int8();
    expired.first_at = row.int8();
    expired.latest = row.int8();
    out.push_back(std::move(expired));
  }
  return out;
}

std::vector<BlockedKeys> read_blocked_keys(inbox::Connection& connection) {
  std::vector<BlockedKeys> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_blocked, pqxx::params{most_lane_rows})) {
    inbox::RowReader row{found};
    BlockedKeys blocked;
    blocked.handler_id = row.int4();
    blocked.keys = row.int8();
    blocked.waiting = row.int8();
    blocked.received_at = row.int8();
    out.push_back(std::move(blocked));
  }
  return out;
}

}  // namespace inboxd::operations
