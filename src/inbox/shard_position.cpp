#include "inbox/shard_position.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "statements.hpp"

namespace inboxd::inbox {

using Type = ArrayParameter::Type;
using Effect = Connection::Access::Effect;

std::optional<ShardPosition> find_position(Connection& connection, const std::string& topic, std::int32_t partition) {
  const auto rows = connection.access().run(statements::find_position, pqxx::params{topic, partition}, Effect::reads);
  if (rows.empty()) return std::nullopt;
  const auto row = rows[0];
  ShardPosition out;
  out.shard_id = row[0].as<std::int32_t>();
  out.epoch = row[1].as<std::int32_t>();
  out.next_offset = row[2].as<std::int64_t>();
  out.leader_epoch = row[3].as<std::int32_t>();
  out.incarnation = row[4].as<std::string>();
  out.halted_reason = row[5].as<std::optional<std::string>>();
  out.has_gap = row[6].as<bool>();
  out.new_incarnation = row[7].as<std::optional<std::string>>();
  out.is_beginning = row[8].as<bool>();
  out.log_id = row[9].as<std::string>();
  return out;
}

void await_standby(Connection& connection) {
  connection.access().run(statements::await_standby, pqxx::params{}, Effect::writes);
}

std::optional<std::vector<ShardPlace>> read_positions(Connection& connection,
                                                      const std::vector<std::int32_t>& shard_ids) {
  ArrayParameter ids{Type::int4};
  for (const std::int32_t id : shard_ids) ids.add(id);
  const auto rows = connection.access().run(statements::read_positions, pqxx::params{ids.finish()}, Effect::reads);
  if (rows.empty() && !shard_ids.empty()) return std::nullopt;
  std::vector<ShardPlace> out;
  for (const auto& row : rows) {
    if (row[4].is_null()) continue;
    out.push_back({row[0].as<std::int32_t>(), row[1].as<std::string>(), row[2].as<std::int32_t>(),
                   row[3].as<std::int32_t>(), row[4].as<std::int64_t>()});
  }
  return out;
}

std::vector<std::string> known_topics(Connection& connection) {
  std::vector<std::string> out;
  for (const auto& row : connection.access().run(statements::known_topics, {}, Effect::reads)) {
    out.push_back(row[0].as<std::string>());
  }
  return out;
}

std::optional<event::Microseconds> started_at(Connection& connection, const std::string& entry) {
  const auto rows = connection.access().run(statements::started_at, pqxx::params{entry}, Effect::reads);
  if (rows.empty()) return std::nullopt;
  return rows[0][0].as<event::Microseconds>();
}

bool is_put_off(Connection& connection, const std::string& topic, std::int32_t partition) {
  const pqxx::params parameters{topic, partition};
  return connection.access().run(statements::is_put_off, parameters, Effect::reads)[0][0].as<bool>();
}

int write_first_positions(Connection& connection, const std::vector<FirstPosition>& positions,
                          const std::optional<std::string>& entry) {
  ArrayParameter topic{Type::text}, incarnation{Type::text}, partition{Type::int4}, next{Type::int8};
  for (const FirstPosition& position : positions) {
    topic.add(position.topic);
    incarnation.add(position.incarnation);
    partition.add(position.partition);
    position.next_offset ? next.add(*position.next_offset) : next.add_null();
  }
  const pqxx::params parameters{topic.finish(), incarnation.finish(), partition.finish(), next.finish(), entry};
  return static_cast<int>(connection.access().run(statements::write_first_positions, parameters).affected_rows());
}

void halt_shard(Connection& connection, const ShardPosition& at, const std::string& reason,
                std::optional<event::OffsetRange> gap, Halt how) {
  std::optional<std::int64_t> from, to;
  if (gap) {
    from = gap->first;
    to = gap->end;
  }
  const std::optional<std::string> new_incarnation;
  connection.access().run(statements::halt_shard, pqxx::params{at.shard_id, reason, from, to, how == Halt::replace,
                                                               new_incarnation, at.epoch, at.next_offset});
}

void halt_recreated(Connection& connection, std::int32_t shard_id, const std::string& reason,
                    const std::string& new_incarnation) {
  const std::optional<std::int64_t> no_gap, any_offset;
  const std::optional<std::int32_t> any_epoch;
  connection.access().run(statements::halt_shard,
                          pqxx::params{shard_id, reason, no_gap, no_gap, true, new_incarnation, any_epoch, any_offset});
}

bool resume_shard(Connection& connection, std::int32_t shard_id, const std::string& reason) {
  return connection.access().run(statements::resume_shard, pqxx::params{shard_id, reason}).affected_rows() > 0;
}

void record_watermarks(Connection& connection, const std::vector<Watermark>& watermarks) {
  if (watermarks.empty()) return;
  ArrayParameter shard{Type::int4}, high{Type::int8}, stable{Type::int8}, age{Type::int8};
  for (const Watermark& watermark : watermarks) {
    shard.add(watermark.shard_id);
    high.add(watermark.high);
    watermark.stable ? stable.add(*watermark.stable) : stable.add_null();
    age.add(watermark.age.count());
  }
  const pqxx::params parameters{shard.finish(), high.finish(), stable.finish(), age.finish()};
  connection.access().run(statements::record_watermarks, parameters);
}

std::vector<UnobservedShard> unobserved_shards(Connection& connection, std::chrono::milliseconds max_observed_age) {
  std::vector<UnobservedShard> out;
  const pqxx::params parameters{static_cast<std::int64_t>(max_observed_age.count())};
  for (const auto& row : connection.access().run(statements::unobserved_shards, parameters, Effect::reads)) {
    out.push_back(
        {row[0].as<std::int32_t>(), row[1].as<std::string>(), row[2].as<std::int32_t>(), row[3].as<std::string>()});
  }
  return out;
}

}  // namespace inboxd::inbox
