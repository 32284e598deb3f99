#include "kafka/handle.hpp"

namespace inboxd::kafka {

void abandon(Client client) {
  // Deprecated in favour of the configuration's function, which cannot remove the logger of an existing client.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  rd_kafka_set_logger(client.get(), nullptr);
#pragma GCC diagnostic pop
  static_cast<void>(client.release());
}

PartitionList make_list(std::size_t size) {
  return PartitionList{rd_kafka_topic_partition_list_new(static_cast<int>(size))};
}

rd_kafka_topic_partition_t* add(const PartitionList& list, const TopicPartition& partition, std::int64_t offset,
                                std::int32_t leader_epoch) {
  auto* const entry = rd_kafka_topic_partition_list_add(list.get(), partition.topic.c_str(), partition.partition);
  entry->offset = offset;
  rd_kafka_topic_partition_set_leader_epoch(entry, leader_epoch);
  return entry;
}

std::string text_of(const TopicPartition& partition) {
  return partition.topic + "/" + std::to_string(partition.partition);
}

}  // namespace inboxd::kafka
