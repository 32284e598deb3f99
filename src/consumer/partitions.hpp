#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/log.hpp"
#include "consumer/clients.hpp"
#include "consumer/first_positions.hpp"
#include "consumer/topics.hpp"
#include "inbox/connection.hpp"
#include "inbox/shards.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// A shard that may be read from `position.next_offset` on, as records of `topic`. Where it was not readable, its
/// reason still stands: it goes when something was read.
struct Ready {
  inbox::ShardPosition position;
  const config::Topic* topic = nullptr;
};
/// A shard that stands still; the reason is in table shard and in the log.
struct Standing {
  std::string reason;
  /// Where it stands; nothing where it has no position, or only one of another log than the partition has now.
  std::optional<inbox::ShardPosition> position = std::nullopt;
};
using LookedUp = std::variant<Ready, Standing, NotNow>;

/// Finds where a partition is read from: its position in the database, written first (for all partitions of the topic)
/// where none exists. Halts the shard where the topic was created again, and has it go on where the topic has the
/// shard's own id again. Blocks on brokers and database; throws what inbox::describe reads. `read_as` is the topic's id
/// as the member knows it, empty where it has not said: the brokers that are asked may still know an older one.
LookedUp look_up(inbox::Connection& connection, const Clients& clients, const Topics& topics,
                 const kafka::TopicPartition& partition, const std::string& read_as, const Moved& moved,
                 base::Logger& log);

/// Why a partition cannot be read on, found out after the broker refused the position: a gap (retention went past us),
/// a log that was cut off before it, or nothing that could be told. `said` is the client library's complaint: from
/// leader epochs it knows of a log that was cut off and has grown past the position again. Asks by the member, who has
/// just been refused by the partition's leader, and so knows it.
struct Break {
  std::string reason;
  std::optional<event::OffsetRange> gap;
};
Break examine(rd_kafka_t* member, const kafka::TopicPartition& partition, std::int64_t next_offset,
              const std::string& said);

}  // namespace inboxd::consumer
