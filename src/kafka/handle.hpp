#pragma once
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace inboxd::kafka {

/// Owning pointers to the client library's objects.
struct Destroy {
  void operator()(rd_kafka_t* client) const { rd_kafka_destroy(client); }
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
  void operator()(rd_kafka_topic_partition_list_t* list) const { rd_kafka_topic_partition_list_destroy(list); }
  void operator()(rd_kafka_queue_t* queue) const { rd_kafka_queue_destroy(queue); }
  void operator()(rd_kafka_message_t* message) const { rd_kafka_message_destroy(message); }
  void operator()(rd_kafka_event_t* event) const { rd_kafka_event_destroy(event); }
  void operator()(rd_kafka_error_t* error) const { rd_kafka_error_destroy(error); }
  void operator()(rd_kafka_AdminOptions_t* options) const { rd_kafka_AdminOptions_destroy(options); }
  void operator()(rd_kafka_ConfigResource_t* resource) const { rd_kafka_ConfigResource_destroy(resource); }
  void operator()(rd_kafka_TopicCollection_t* topics) const { rd_kafka_TopicCollection_destroy(topics); }
  void operator()(const rd_kafka_metadata_t* metadata) const { rd_kafka_metadata_destroy(metadata); }
};
using Client = std::unique_ptr<rd_kafka_t, Destroy>;
using Conf = std::unique_ptr<rd_kafka_conf_t, Destroy>;
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, Destroy>;
using Queue = std::unique_ptr<rd_kafka_queue_t, Destroy>;
using Message = std::unique_ptr<rd_kafka_message_t, Destroy>;
using Error = std::unique_ptr<rd_kafka_error_t, Destroy>;

/// The consumer's two clients, owned by consumer::Consumer. Any thread uses either. The two learn of topics and leaders
/// at different times.
struct Clients {
  /// The group's member: fetches, seeks, commits, and knows the group's offsets.
  rd_kafka_t* member = nullptr;
  /// For nearly all queries. A broker answers the requests of a connection in order, so on the member's connection a
  /// query would wait for a fetch that waits for records.
  rd_kafka_t* query = nullptr;
};

/// Leaks a client that waits for brokers which do not answer: it logs nothing more, and its threads end with the
/// process.
void abandon(Client client);

/// A partition by name.
struct TopicPartition {
  std::string topic;
  std::int32_t partition = 0;
  auto operator<=>(const TopicPartition&) const = default;
};

/// An empty list with capacity for `size`.
PartitionList make_list(std::size_t size);
rd_kafka_topic_partition_t* add(const PartitionList& list, const TopicPartition& partition, std::int64_t offset,
                                std::int32_t leader_epoch = -1);

/// `TOPIC/PARTITION`, as on the command line.
std::string text_of(const TopicPartition& partition);

}  // namespace inboxd::kafka
