#include "inbox/local_events.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;
using Effect = Connection::Access::Effect;

}  // namespace

std::optional<std::string> find_local_clash(Connection& connection, const std::vector<LocalTopic>& topics) {
  if (topics.empty()) return std::nullopt;
  ArrayParameter names{Type::text};
  for (const LocalTopic& topic : topics) names.add(topic.topic);
  const auto rows = connection.access().run(statements::local_clash, pqxx::params{names.finish()}, Effect::reads);
  return rows.empty() ? std::nullopt : std::optional{rows[0][0].as<std::string>()};
}

void declare_local(Connection& connection, const std::vector<LocalTopic>& topics) {
  if (topics.empty()) return;
  ArrayParameter names{Type::text}, limits{Type::int4}, ahead{Type::int8}, id_decides{Type::text};
  for (const LocalTopic& topic : topics) {
    names.add(topic.topic);
    limits.add(static_cast<std::int32_t>(topic.payload_limit));
    ahead.add(topic.deliver_at_limit.count());
    if (topic.id_decides) id_decides.add(topic.topic);
  }
  connection.access().run(statements::local_declare,
                          pqxx::params{names.finish(), limits.finish(), ahead.finish(), id_decides.finish()});
}

std::vector<LocalPosition> local_positions(Connection& connection) {
  std::vector<LocalPosition> out;
  for (const auto& row : connection.access().run(statements::local_topics, {}, Effect::reads)) {
    out.push_back(
        {row[0].as<std::string>(), row[1].as<std::int32_t>(), row[2].as<std::int32_t>(), row[3].as<std::int64_t>()});
  }
  return out;
}

std::optional<std::int64_t> take_local(Connection& connection, const LocalLease& lease,
                                       std::chrono::milliseconds length) {
  const auto rows = connection.access().run(statements::local_take,
                                            pqxx::params{lease.owner.text(), lease.fence, length.count()});
  return rows.empty() ? std::nullopt : std::optional{rows[0][0].as<std::int64_t>()};
}

Renewal renew_local(Connection& connection, const LocalLease& lease, std::chrono::milliseconds length,
                    std::int64_t low_water, bool checks) {
  const pqxx::params parameters{lease.owner.text(), lease.fence, length.count(), low_water, checks};
  const auto rows = connection.access().run(statements::local_renew, parameters);
  if (rows.empty()) return Renewal::lost;
  return rows[0][0].as<bool>() ? Renewal::behind : Renewal::done;
}

void release_local(Connection& connection, const LocalLease& lease, std::int64_t low_water) {
  connection.access().run(statements::local_release, pqxx::params{lease.owner.text(), lease.fence, low_water});
}

int LocalRows::size() const { return PQntuples(result_.get()); }

std::int64_t LocalRows::id(int row) const { return BinaryRow{result_.get(), row}.int8(0); }

event::Event LocalRows::event(int row) const {
  const BinaryRow from{result_.get(), row};
  event::Event out;
  out.shard_id = from.int4(1);
  out.event_id = from.uuid(2);
  out.event_type = from.bytes(3);
  out.key = from.maybe_bytes(4);
  out.payload = from.maybe_bytes(5);
  out.headers = from.maybe_bytes(6);
  out.occurred_at = from.time(7);
  out.deliver_at = from.time(8);
  out.source_id = from.maybe_bytes(9);
  out.source = from.maybe_bytes(10);
  out.subject = from.maybe_bytes(11);
  return out;
}

bool has_local_above(Connection& connection, std::int64_t number) {
  return connection.access().run(statements::local_any, pqxx::params{number}, Effect::reads)[0][0].as<bool>();
}

LocalRows read_local(Connection& connection, const std::vector<IdRange>& ranges, std::int64_t after,
                     OutboxBite bite) {
  return LocalRows{read_ids(connection, statements::local_read, ranges, after, bite)};
}

RunningTransactions transactions_now(Connection& connection) {
  const auto rows = connection.access().run(statements::local_transactions, {}, Effect::reads);
  return {rows[0][0].as<std::int64_t>(), rows[0][1].as<std::int64_t>()};
}

LocalNumbers local_numbers(Connection& connection) {
  const auto rows = connection.access().run(statements::local_numbers, {}, Effect::reads);
  RowReader row{rows[0]};
  LocalNumbers out;
  out.first = row.maybe_int8();
  out.last = row.maybe_int8();
  return out;
}

std::map<std::int32_t, std::int64_t> local_waiting(Connection& connection, std::int64_t above, std::int64_t most) {
  std::map<std::int32_t, std::int64_t> out;
  const pqxx::params parameters{above, most};
  for (const auto& row : connection.access().run(statements::local_waiting, parameters, Effect::reads)) {
    out.emplace(row[0].as<std::int32_t>(), row[1].as<std::int64_t>());
  }
  return out;
}

}  // namespace inboxd::inbox
