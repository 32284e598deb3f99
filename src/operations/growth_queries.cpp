#include "operations/growth_queries.hpp"

#include "inbox/connection_access.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

// Limits of counting: `status` stays quick whatever is stored.
constexpr std::int64_t max_letters = 10'000;
constexpr std::int64_t max_records = 10'000;
constexpr std::int64_t max_events = 10'000;
constexpr std::int64_t max_lane_rows = 10'000;

}  // namespace

std::vector<DeadGrowth> read_dead_growth(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_dead_recent, pqxx::params{max_letters}, [](auto row) {
    return DeadGrowth{row.int4(), row.int8(), row.int8(), row.int8(), row.int8(), row.text(), row.int8(), ""};
  });
}

std::vector<QuarantineGrowth> read_quarantine_growth(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_quarantine_recent, pqxx::params{max_records, max_events},
                  [](auto row) {
                    QuarantineGrowth out{row.text(), row.int8(), row.int8(), row.text(), ""};
                    out.stored = row.int8();
                    return out;
                  });
}

std::vector<ExpiredTopic> read_expired_topics(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_expired_recent, pqxx::params{max_letters}, [](auto row) {
    return ExpiredTopic{row.int4(), row.text(), row.int8(), row.int8(), row.int8()};
  });
}

std::vector<BlockedKeys> read_blocked_keys(inbox::Connection& connection) {
  return read_all(connection, inbox::statements::op_blocked, pqxx::params{max_lane_rows}, [](auto row) {
    BlockedKeys out{row.int4(), row.int8(), row.int8(), std::nullopt, ""};
    out.received_at = row.int8();
    return out;
  });
}

}  // namespace inboxd::operations
