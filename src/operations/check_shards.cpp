#include "operations/check_shards.hpp"

#include <map>

#include "config/shared_topics.hpp"
#include "config/topics.hpp"
#include "inbox/ingest_right.hpp"
#include "kafka/group.hpp"
#include "kafka/lookup.hpp"
#include "kafka/partitioner.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

using Kind = Finding::Kind;

constexpr int events_of_partition = 200;

void check_keys(const std::string& topic, const PlacedKeys& keys, FoundList& out) {
  const std::string subject = "topic " + topic;
  if (keys.without_key > 0) {
    out.push_back({Kind::warning, subject,
                   std::to_string(keys.without_key) + " of the newest " + std::to_string(keys.events) +
                       " events have no key, so a resend may reach another database, which does not know the event: "
                       "send them with a key"});
  }
  if (keys.is_mixed()) {
    out.push_back({Kind::warning, subject,
                   "some producers place keys by murmur2 (Java clients), others by CRC32 (librdkafka's default), so "
                   "events of a key reach two databases: set partitioner=murmur2_random in the others"});
  }
}

}  // namespace

void PlacedKeys::add(const std::optional<std::string>& key, std::int32_t partition, int of) {
  ++events;
  if (!key || key->empty()) {
    ++without_key;
    return;
  }
  // By `of`, not by the topic's size: so it holds for records of before the topic grew, too.
  const bool is_murmur2 = kafka::murmur2_remainder(*key, of) == partition % of;
  const bool is_crc32 = kafka::crc32_remainder(*key, of) == partition % of;
  if (is_murmur2 != is_crc32) is_murmur2 ? ++murmur2 : ++crc32;
  if (!is_murmur2 && !is_crc32) ++neither;
}

void check_own_shard(inbox::Connection& connection, const config::Settings& settings, FoundList& out) {
  if (const auto recorded = inbox::recorded_shard(connection)) {
    const auto text =
        config::recorded_text(settings.database.schema, {recorded->index, recorded->of}, settings.shard);
    if (!text.empty()) out.push_back({Kind::problem, "database", text});
  }
  if (!settings.has_ingest_right()) return;
  std::map<std::string, PlacedKeys> topics;
  for (const auto& row : connection.access().run(inbox::statements::op_shard_keys, pqxx::params{events_of_partition},
                                                 inbox::Connection::Access::Effect::reads)) {
    inbox::RowReader from{row};
    const auto topic = from.text();
    const auto partition = from.int4();
    topics[topic].add(from.maybe_bytes(), partition, settings.shard.of);
  }
  for (const auto& [topic, keys] : topics) check_keys(topic, keys, out);
}

void check_shared_topics(const config::Settings& settings, rd_kafka_t* client, const std::vector<std::string>& topics,
                         std::chrono::milliseconds patience, FoundList& out) {
  if (!settings.has_ingest_right()) return;
  const config::Topics configured{config::kafka_topics(settings.topics), settings.shard};
  std::vector<std::string> read;
  for (const std::string& topic : topics) {
    if (configured.find(topic) != nullptr) read.push_back(topic);
  }
  const auto described = kafka::describe_topics(client, read, patience);
  if (!described) return out.push_back({Kind::unreachable, "topics", described.problem().message});
  for (const auto& topic : described.value()) {
    const auto text = config::uneven_text(settings.shard, topic.name, topic.partitions);
    if (!text.empty()) out.push_back({Kind::problem, "topic " + topic.name, text});
  }
  const std::string subject = "group " + settings.kafka.group;
  const auto members = kafka::describe_group({settings.kafka.brokers, "", "", settings.kafka.properties_now()},
                                             settings.kafka.group, patience);
  if (!members) {
    out.push_back({Kind::warning, subject, "not known whether it has members: " + members.problem().message});
  } else if (!members.value().empty()) {
    const auto& first = members.value().front();
    out.push_back({Kind::problem, subject,
                   config::subscribed_text(settings.kafka.group, first.client_id + " at " + first.host)});
  }
}

}  // namespace inboxd::operations
