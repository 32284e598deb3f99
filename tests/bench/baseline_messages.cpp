#include "baseline_messages.hpp"

#include <functional>
#include <string_view>

namespace inboxd::bench {
namespace {

std::int64_t digest_of(std::string_view key, std::string_view payload) {
  return static_cast<std::int64_t>(std::hash<std::string_view>{}(payload)*31 + std::hash<std::string_view>{}(key));
}

event::Event event_of(const rd_kafka_message_t& message) {
  const std::string_view key{static_cast<const char*>(message.key), message.key_len};
  const std::string_view payload{static_cast<const char*>(message.payload), message.len};
  event::Event event;
  event.shard_id = message.partition;
  event.offset = message.offset;
  event.event_id = base::parse_uuid(key).value();
  event.digest = digest_of(key, payload);
  event.event_type = "order.placed";
  event.key = key;
  event.payload = payload;
  rd_kafka_timestamp_type_t type{};
  event.kafka_timestamp = rd_kafka_message_timestamp(&message, &type) * 1000;
  return event;
}

}  // namespace

SourceBatch batch_of(const Messages& messages, int partitions) {
  std::vector<std::vector<const rd_kafka_message_t*>> sorted(static_cast<std::size_t>(partitions));
  for (const auto& message : messages) sorted[static_cast<std::size_t>(message->partition)].push_back(message.get());
  SourceBatch batch;
  for (const auto& of_partition : sorted) {
    if (of_partition.empty()) continue;
    batch.slices.push_back(
        {of_partition.front()->partition, {of_partition.front()->offset, of_partition.back()->offset + 1}});
    for (const rd_kafka_message_t* message : of_partition) batch.events.push_back(event_of(*message));
  }
  return batch;
}

}  // namespace inboxd::bench
