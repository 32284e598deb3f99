#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kafka/handle.hpp"
#include "operations/check.hpp"

namespace inboxd::operations {

// Checks of a database that shares topics with others (shard.of). Nothing for one that does not.

/// Of the schema and its stored events. Throws database errors.
void check_own_shard(inbox::Connection& connection, const config::Settings& settings, FoundList& out);
/// Of the group and of all topics that the brokers list. Each question takes `patience` at most.
void check_shared_topics(const config::Settings& settings, rd_kafka_t* client, const std::vector<std::string>& topics,
                         std::chrono::milliseconds patience, FoundList& out);

/// A topic's newest stored events, by how their keys were placed.
struct PlacedKeys {
  std::int64_t events = 0;
  std::int64_t without_key = 0;
  std::int64_t murmur2 = 0;  ///< that this hash alone places into the database, like the next
  std::int64_t crc32 = 0;
  std::int64_t neither = 0;  ///< an own partitioner, or an explicit partition

  void add(const std::optional<std::string>& key, std::int32_t partition, int of);
  bool is_mixed() const { return murmur2 > 0 && crc32 > 0 && neither == 0; }
};

}  // namespace inboxd::operations
