#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/offsets.hpp"
#include "inbox/connection.hpp"
#include "inbox/operations.hpp"

namespace inboxd::inbox {

/// A shard, how far it is ingested and what keeps it from going on.
struct ShardState {
  std::int32_t shard_id = 0;
  std::string source;
  std::string topic;
  std::int32_t partition = 0;
  std::string incarnation;                     ///< the topic's id in Kafka; empty where the broker told none
  bool is_newest = true;                       ///< false: the topic was deleted and created again since
  std::optional<std::int32_t> epoch;
  std::optional<std::int64_t> position;        ///< the next offset; null: none written yet
  std::optional<std::int64_t> high_watermark;  ///< what the daemon last heard from the broker
  std::optional<std::string> halted_reason;    ///< for people
  std::optional<event::Microseconds> halted_at;
  std::optional<event::OffsetRange> gap;       ///< lost in Kafka, waits for accept_gap
  std::optional<std::string> new_incarnation;  ///< the topic's new id, waits for accept_incarnation
  event::OffsetSet gaps;                       ///< accepted before

  std::optional<std::int64_t> lag() const;
};

struct ShardFilter {
  std::vector<std::string> topics;             ///< exact or prefix*; empty = all
  bool only_newest = false;
  bool only_halted = false;
};
std::vector<ShardState> read_shards(Connection& connection, const ShardFilter& filter);

/// What a gap that was accepted skipped, and where the partition goes on.
struct AcceptedGap {
  event::OffsetRange gap;
  std::int64_t position = 0;
};

/// Has a halted partition go on behind what Kafka lost; nullopt where its gap or position is another than was seen.
std::optional<AcceptedGap> accept_gap(Connection& connection, const ShardState& seen, const std::string& actor);

struct AcceptedIncarnation {
  std::int32_t partition = 0;
  std::string old_incarnation;
  std::string new_incarnation;
};

/// Begins partitions of a topic that was deleted and created again; what was accepted, by partition. Nothing where one
/// does not wait for the incarnation any more for which it was seen to wait.
std::vector<AcceptedIncarnation> accept_incarnation(Connection& connection, const std::vector<ShardState>& seen,
                                                    const std::string& actor);

}  // namespace inboxd::inbox
