#include "inbox/outbox.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

}  // namespace

int OutboxRows::size() const { return PQntuples(result_.get()); }

OutboxRow OutboxRows::at(int row) const {
  const BinaryRow from{result_.get(), row};
  OutboxRow out;
  out.id = from.int8(0);
  out.message_id = from.uuid(1);
  out.topic = from.bytes(2);
  out.key = from.maybe_bytes(3);
  out.payload = from.maybe_bytes(4);
  if (!from.is_null(5)) out.headers = from.bytes(5);
  out.published_at = from.time(6).value_or(0);
  out.is_behind = from.flag(7);
  if (PQnfields(result_.get()) == 8) return out;
  out.lane = from.int8(8);
  out.is_alone = from.flag(9);
  return out;
}

std::optional<std::int64_t> take_relay(Connection& connection, const RelayLease& lease,
                                       std::chrono::milliseconds length, std::size_t message_bytes) {
  const auto rows = connection.access().run(
      statements::relay_take, pqxx::params{lease.owner.text(), lease.fence, length.count(), message_bytes});
  return rows.empty() ? std::nullopt : std::optional{rows[0][0].as<std::int64_t>()};
}

Renewal renew_relay(Connection& connection, const RelayLease& lease, std::chrono::milliseconds length,
                    std::int64_t low_water, bool checks) {
  const auto rows = connection.access().run(
      statements::relay_renew, pqxx::params{lease.owner.text(), lease.fence, length.count(), low_water, checks});
  if (rows.empty()) return Renewal::lost;
  return rows[0][0].as<bool>() ? Renewal::behind : Renewal::done;
}

void release_relay(Connection& connection, const RelayLease& lease, std::int64_t low_water) {
  connection.access().run(statements::relay_release, pqxx::params{lease.owner.text(), lease.fence, low_water});
}

std::set<std::string, std::less<>> dead_letter_topics(Connection& connection) {
  std::set<std::string, std::less<>> out;
  const auto rows = connection.access().run(statements::dead_letter_topics, {});
  for (const auto& row : rows) out.insert(row[0].as<std::string>());
  return out;
}

std::shared_ptr<pg_result> read_ids(Connection& connection, const Statement& statement,
                                    const std::vector<IdRange>& ranges, std::int64_t after, OutboxBite bite) {
  ArrayParameter firsts{Type::int8, ranges.size() * 12}, lasts{Type::int8, ranges.size() * 12};
  for (const IdRange& range : ranges) {
    firsts.add(range.first);
    lasts.add(range.last);
  }
  const std::string from = std::to_string(after), rows = std::to_string(bite.rows), bytes = std::to_string(bite.bytes);
  WireParameters parameters;
  parameters.add(firsts.finish());
  parameters.add(lasts.finish());
  for (const std::string* text : {&from, &rows, &bytes}) parameters.add(*text);
  return connection.access().fetch(statement, parameters);
}

OutboxRows read_outbox(Connection& connection, const std::vector<IdRange>& ranges, std::int64_t after,
                       OutboxBite bite) {
  return OutboxRows{read_ids(connection, statements::relay_read, ranges, after, bite)};
}

std::set<std::int64_t> running_transactions(Connection& connection, std::int64_t before) {
  std::set<std::int64_t> out;
  for (const auto& row : connection.access().run(statements::relay_running, pqxx::params{before})) {
    out.insert(row[0].as<std::int64_t>());
  }
  return out;
}

OutboxRows read_due_lanes(Connection& connection, const RelayLease& lease, OutboxBite bite,
                          const std::vector<std::int64_t>& in_flight) {
  const std::string owner = lease.owner.text(), fence = std::to_string(lease.fence), rows = std::to_string(bite.rows),
                    bytes = std::to_string(bite.bytes);
  WireParameters parameters;
  auto lanes = array_of(Type::int8, in_flight);
  for (const std::string* text : {&owner, &fence, &rows, &bytes}) parameters.add(*text);
  parameters.add(lanes.finish());
  return OutboxRows{connection.access().fetch(statements::relay_due, parameters)};
}

std::optional<RelayTransaction> delete_sent(Connection& connection, const RelayLease& lease,
                                            const std::vector<SentMessage>& messages) {
  ArrayParameter sent{Type::int8, messages.size() * 12}, sent_ids{Type::uuid, messages.size() * 20};
  ArrayParameter waiting{Type::int8}, waiting_ids{Type::uuid};
  for (const SentMessage& each : messages) {
    (each.lane ? waiting : sent).add(each.id);
    (each.lane ? waiting_ids : sent_ids).add(each.message_id);
  }
  const auto rows = connection.access().run(
      statements::relay_done, pqxx::params{lease.owner.text(), lease.fence, sent.finish(), sent_ids.finish(),
                                           waiting.finish(), waiting_ids.finish()});
  if (rows.empty()) return std::nullopt;
  return RelayTransaction{rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int64_t>(), rows[0][2].as<std::size_t>()};
}

bool set_aside(Connection& connection, const RelayLease& lease, const std::vector<SetAside>& messages) {
  ArrayParameter ids{Type::int8}, errors{Type::text}, kinds{Type::int4}, delays{Type::int8};
  for (const SetAside& message : messages) {
    ids.add(message.id);
    message.error.empty() ? errors.add_null() : errors.add(message.error);
    kinds.add(static_cast<std::int32_t>(message.why));
    message.retry ? delays.add(static_cast<std::int64_t>(message.retry->count())) : delays.add_null();
  }
  const pqxx::params parameters{lease.owner.text(), lease.fence, ids.finish(), errors.finish(), kinds.finish(),
                                delays.finish()};
  return connection.access().run(statements::relay_set_aside, parameters)[0][0].as<bool>();
}

}  // namespace inboxd::inbox
