#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

// Queries to the brokers. Each blocks for at most `timeout`; any thread.
using Timeout = std::chrono::milliseconds;

/// Whether no broker answered, so a retry may help; otherwise a broker refused. For problems of this header only.
bool is_unanswered(const base::Problem& problem);

/// A topic as the brokers describe it.
struct TopicDescription {
  std::string name;
  int partitions = 0;
  std::string incarnation;            ///< the topic's id; empty if the brokers have no topic ids
  std::set<std::int32_t> leaderless;  ///< partitions without a leader
};
base::Result<TopicDescription> describe_topic(rd_kafka_t* client, const std::string& topic, Timeout timeout);
/// All topics in a single request. Topics that do not exist or may not be read are left out.
base::Result<std::vector<TopicDescription>> describe_topics(rd_kafka_t* client, const std::vector<std::string>& topics,
                                                            Timeout timeout);

/// Whether the topic exists. A problem if the client may not know: a list leaves such a topic out, but the answer to a
/// request by name says so.
base::Result<bool> has_topic(rd_kafka_t* client, const std::string& topic, Timeout timeout);

/// The names of all visible topics.
base::Result<std::vector<std::string>> list_topics(rd_kafka_t* client, Timeout timeout);

struct LogBounds {
  std::int64_t low = 0;   ///< the first offset that is still there
  std::int64_t high = 0;  ///< the offset after the last record
};
base::Result<LogBounds> log_bounds(rd_kafka_t* client, const TopicPartition& partition, Timeout timeout);

/// The first offset at or after a time (microseconds since 1970); the end if there is none.
base::Result<std::int64_t> offset_at(rd_kafka_t* client, const TopicPartition& partition, std::int64_t time_us,
                                     Timeout timeout);

/// The group's committed offsets of a topic's first partitions, in a single request; partitions without a committed
/// offset are left out.
base::Result<std::map<std::int32_t, std::int64_t>> committed_offsets(rd_kafka_t* client, const std::string& topic,
                                                                     int partitions, Timeout timeout);
struct CommittedOffset {
  std::int64_t offset = 0;
  std::string metadata;  ///< as committed with the offset
};
/// The group's committed offset, or nothing.
base::Result<std::optional<CommittedOffset>> committed_offset(rd_kafka_t* client, const TopicPartition& partition,
                                                           Timeout timeout);

}  // namespace inboxd::kafka
