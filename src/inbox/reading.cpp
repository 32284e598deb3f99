#include "inbox/reading.hpp"

#include "inbox/array_parameter.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/row_reader.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Type = ArrayParameter::Type;

template <class Value>
void add(ArrayParameter& array, const std::optional<Value>& value) {
  value ? array.add(*value) : array.add_null();
}

}  // namespace

void record_readings(Connection& connection, const base::Uuid& instance, const std::vector<Reading>& readings) {
  if (readings.empty()) return;
  ArrayParameter topic{Type::text}, partition{Type::int4}, position{Type::int8}, high{Type::int8}, reason{Type::text};
  for (const Reading& reading : readings) {
    topic.add(reading.topic);
    partition.add(reading.partition);
    add(position, reading.position);
    add(high, reading.high_watermark);
    add(reason, reading.reason);
  }
  const pqxx::params parameters{instance.text(), topic.finish(), partition.finish(),
                                position.finish(), high.finish(), reason.finish()};
  connection.access().run(statements::record_readings, parameters);
}

std::vector<UnreadPartition> unread_partitions(Connection& connection, const std::vector<UnreadPartition>& all,
                                               std::chrono::milliseconds age) {
  std::vector<UnreadPartition> out;
  if (all.empty()) return out;
  ArrayParameter topic{Type::text}, partition{Type::int4};
  for (const UnreadPartition& one : all) {
    topic.add(one.topic);
    partition.add(one.partition);
  }
  const pqxx::params parameters{topic.finish(), partition.finish(), static_cast<std::int64_t>(age.count())};
  for (const auto& row : run_read(connection, statements::unread_partitions, parameters)) {
    out.push_back({row[0].as<std::string>(), row[1].as<std::int32_t>()});
  }
  return out;
}

void record_unread(Connection& connection, const std::vector<UnreadPartition>& partitions,
                   std::chrono::milliseconds age) {
  if (partitions.empty()) return;
  ArrayParameter topic{Type::text}, partition{Type::int4}, high{Type::int8}, member{Type::text};
  for (const UnreadPartition& one : partitions) {
    topic.add(one.topic);
    partition.add(one.partition);
    add(high, one.high_watermark);
    add(member, one.member);
  }
  const pqxx::params parameters{topic.finish(), partition.finish(), high.finish(), member.finish(),
                                static_cast<std::int64_t>(age.count())};
  connection.access().run(statements::record_unread, parameters);
}

}  // namespace inboxd::inbox
