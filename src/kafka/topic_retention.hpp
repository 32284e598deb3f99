#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "kafka/handle.hpp"

namespace inboxd::kafka {

/// How long the brokers keep the records of a topic, by `retention.ms` and `cleanup.policy`; nullopt: for ever.
using TopicRetention = std::optional<std::chrono::milliseconds>;

/// Of all topics, in a single request, which blocks for at most `timeout`; any thread. Topics whose configuration this
/// user may not read are left out.
base::Result<std::map<std::string, TopicRetention>> topic_retentions(rd_kafka_t* client,
                                                                     const std::vector<std::string>& topics,
                                                                     std::chrono::milliseconds timeout);

/// Reads a property that is a number, such as min.insync.replicas, in the same way.
base::Result<std::map<std::string, std::int64_t>> topic_numbers(rd_kafka_t* client,
                                                                const std::vector<std::string>& topics,
                                                                const std::string& property,
                                                                std::chrono::milliseconds timeout);

}  // namespace inboxd::kafka
