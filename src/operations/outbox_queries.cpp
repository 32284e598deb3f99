#include "operations/outbox_queries.hpp"

#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Effect = inbox::Connection::Access::Effect;
using Type = inbox::ArrayParameter::Type;

constexpr std::int64_t most_counted = 100'000;

Count counted(std::int64_t number) { return {number, number >= most_counted}; }

std::int64_t change(inbox::Connection& connection, const inbox::Statement& statement,
                    const std::vector<std::int64_t>& outbox_ids, const Deed& deed) {
  auto ids = inbox::array_of(Type::int8, outbox_ids);
  const pqxx::params parameters{ids.finish(), deed.actor, deed.asked};
  return connection.access().run(statement, parameters, Effect::writes)[0][0].as<std::int64_t>();
}

}  // namespace

OutboxState read_outbox_state(inbox::Connection& connection) {
  inbox::RowReader row{inbox::run_read(connection, inbox::statements::op_outbox_state, pqxx::params{most_counted})[0]};
  OutboxState out;
  out.backlog = counted(row.int8());
  if (const auto age = row.maybe_int8()) out.oldest_age = std::chrono::microseconds{*age};
  out.stopped = counted(row.int8());
  out.waiting = counted(row.int8());
  return out;
}

std::vector<StoppedMessage> list_stopped(inbox::Connection& connection, const std::vector<std::string>& topics,
                                         std::int64_t limit) {
  auto patterns = like_patterns(topics);
  std::vector<StoppedMessage> out;
  for (const auto& found :
       inbox::run_read(connection, inbox::statements::op_outbox_list, pqxx::params{patterns.finish(), limit})) {
    inbox::RowReader row{found};
    StoppedMessage message;
    message.outbox_id = row.int8();
    message.message_id = row.uuid();
    message.topic = row.text();
    message.key = row.maybe_bytes();
    message.key_is_cut = cut_key(message.key);
    message.whole_topic = row.flag();
    message.error = row.text();
    message.attempts = row.int4();
    message.waiting = row.int8();
    message.stopped_at = row.int8();
    message.due_at = row.maybe_int8();
    out.push_back(std::move(message));
  }
  return out;
}

std::vector<PickedMessage> pick_stopped(inbox::Connection& connection, const StoppedFilter& filter,
                                        std::int64_t limit) {
  auto ids = inbox::array_of(Type::int8, filter.outbox_ids);
  auto topics = like_patterns(filter.topics);
  const pqxx::params parameters{ids.finish(), topics.finish(), limit};
  std::vector<PickedMessage> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_outbox_pick, parameters)) {
    out.push_back({found[0].as<std::int64_t>(), found[1].as<std::string>()});
  }
  return out;
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
