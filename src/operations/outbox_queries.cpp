#include "operations/outbox_queries.hpp"

#include "operations/row_columns.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Effect = inbox::Connection::Access::Effect;
using Type = inbox::ArrayParameter::Type;

constexpr std::int64_t max_counted = 100'000;

Count counted(std::int64_t number) { return {number, number >= max_counted}; }

std::int64_t change(inbox::Connection& connection, const inbox::Statement& statement,
                    const std::vector<std::int64_t>& outbox_ids, const Deed& deed) {
  auto ids = inbox::array_of(Type::int8, outbox_ids);
  const pqxx::params parameters{ids.finish(), deed.actor, deed.asked};
  return connection.access().run(statement, parameters, Effect::writes)[0][0].as<std::int64_t>();
}

}  // namespace

OutboxState read_outbox_state(inbox::Connection& connection) {
  inbox::RowReader row{inbox::run_read(connection, inbox::statements::op_outbox_state, pqxx::params{max_counted})[0]};
  OutboxState out;
  out.backlog = counted(row.int8());
  if (const auto age = row.maybe_int8()) out.oldest_age = std::chrono::microseconds{*age};
  out.stopped = counted(row.int8());
  out.waiting = counted(row.int8());
  return out;
}

Document list_stopped(inbox::Connection& connection, const std::vector<std::string>& topics, std::int64_t limit) {
  auto patterns = like_patterns(topics);
  const pqxx::params parameters{patterns.finish(), limit};
  return list_rows(connection, inbox::statements::op_outbox_list, parameters, columns::stopped_message);
}

std::vector<PickedMessage> pick_stopped(inbox::Connection& connection, const StoppedFilter& filter,
                                        std::int64_t limit) {
  auto ids = inbox::array_of(Type::int8, filter.outbox_ids);
  auto topics = like_patterns(filter.topics);
  const pqxx::params parameters{ids.finish(), topics.finish(), limit};
  return read_all(connection, inbox::statements::op_outbox_pick, parameters,
                  [](auto row) { return PickedMessage{row.int8(), row.text()}; });
}

std::int64_t retry_stopped(inbox::Connection& connection, const std::vector<std::int64_t>& outbox_ids,
                           const Deed& deed) {
  return change(connection, inbox::statements::op_outbox_retry, outbox_ids, deed);
}

std::int64_t skip_stopped(inbox::Connection& connection, const std::vector<std::int64_t>& outbox_ids,
                          const Deed& deed) {
  return change(connection, inbox::statements::op_outbox_skip, outbox_ids, deed);
}

}  // namespace inboxd::operations
