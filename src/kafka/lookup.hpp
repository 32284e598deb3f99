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

/// Questions to the brokers. Each blocks at most `timeout`; any thread.
using Timeout = std::chrono::milliseconds;

/// Whether nobody answered, so that another try may find more; otherwise the brokers did, and said no. Problems of this
/// header only.
bool is_silence(const base::Problem& problem);

/// A topic as the brokers describe it.
struct TopicDescription {
  std::string name;
  int partitions = 0;
  std::string incarnation;                     ///< the topic's id; empty where the brokers know none
  std::set<std::int32_t> leaderless;  ///< partitions of which nobody can be asked now
};
base::Result<TopicDescription> describe_topic(rd_kafka_t* client, const std::string& topic, Timeout timeout);
/// All of them in one question; a topic that the brokers do not describe (gone, or not for us) is left out.
base::Result<std::vector<TopicDescription>> describe_topics(rd_kafka_t* client, const std::vector<std::string>& topics,
                                                            Timeout timeout);

/// Whether there is such a topic. A problem where that may not be known: a list leaves it out, asked for by name the
/// brokers say so.
base::Result<bool> has_topic(rd_kafka_t* client, const std::string& topic, Timeout timeout);

/// Names of all topics that may be seen.
base::Result<std::vector<std::string>> list_topics(rd_kafka_t* client, Timeout timeout);

struct LogBounds {
  std::int64_t low = 0;                        ///< the first offset that is still there
  std::int64_t high = 0;                       ///< one behind the last
};
base::Result<LogBounds> log_bounds(rd_kafka_t* client, const TopicPartition& partition, Timeout timeout);

/// The first offset at or after a time (microseconds since 1970); the end where there is none.
base::Result<std::int64_t> offset_at(rd_kafka_t* client, const TopicPartition& partition, std::int64_t time_us,
                                     Timeout timeout);

/// The group's committed offsets of a topic's first partitions, in one question; those without one are left out.
base::Result<std::map<std::int32_t, std::int64_t>> committed_offsets(rd_kafka_t* client, const std::string& topic,
                                                                     int partitions, Timeout timeout);
/// The group's committed offset, or nothing.
base::Result<std::optional<std::int64_t>> committed_offset(rd_kafka_t* client, const TopicPartition& partition,
                                                           Timeout timeout);

}  // namespace inboxd::kafka
