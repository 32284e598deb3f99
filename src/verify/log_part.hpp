#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "inbox/shard_position.hpp"
#include "kafka/lookup.hpp"
#include "operations/partition_queries.hpp"

namespace inboxd::verify {

/// The offsets of a partition's log that a shard has stored. After an accepted truncation the log has two shards: the
/// offsets before the cut belong to the older shard.
struct LogPart {
  operations::PartitionState state;
  std::optional<std::int64_t> cut;  ///< the next shard begins there; nullopt: it is the newest
};

/// The parts of the logs that Kafka has today, by partition, the newest last. The former logs of a topic that was
/// deleted and created again are left out. `states` as read_partitions orders them. Throws database errors.
std::vector<LogPart> log_parts(inbox::Connection& connection, const std::vector<operations::PartitionState>& states);

struct ShardLog {
  std::optional<std::int64_t> begin;  ///< the shard's first offset; nullopt: nothing is stored
  std::string id;                     ///< as inbox::ShardPosition::log_id
  event::Microseconds trimmed_before = 0;  ///< events received before that may have been deleted; 0: none was
};
ShardLog log_of_shard(inbox::Connection& connection, std::int32_t shard_id);

/// Why a partition's records are lost or will not be read, with the remedy; empty: they will be. `seen` was read before
/// `log`, and `now` after it: the position may have followed the log meanwhile.
std::string problem_with(const operations::PartitionState& seen, const kafka::LogBounds& log,
                         const inbox::ShardPosition& now);

}  // namespace inboxd::verify
