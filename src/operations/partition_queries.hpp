#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/offset_set.hpp"
#include "inbox/connection.hpp"
#include "operations/stored_event.hpp"

namespace inboxd::operations {

/// The age up to which a recorded end of a partition counts as known. Daemons record it every two to six seconds.
inline constexpr std::chrono::seconds fresh_within{10};

/// An incarnation of a partition (a shard in SQL): its position, its lag and what halts it.
struct PartitionState {
  std::int32_t shard_id = 0;
  std::string source;
  std::string topic;
  std::int32_t partition = 0;
  std::string incarnation;  ///< the topic's id in Kafka; empty if the broker has none
  bool is_newest = true;    ///< false: the topic has been deleted and created again
  std::optional<std::int32_t> epoch;
  std::optional<std::int64_t> position;                   ///< the next offset; null: none written yet
  std::optional<std::int64_t> high_watermark;             ///< as a daemon last heard it from the broker
  std::optional<std::int64_t> last_stable_offset;         ///< likewise; open transactions begin here
  std::optional<event::Microseconds> observed_at;         ///< the time of both
  std::optional<std::chrono::microseconds> observed_age;  ///< their age by the database's clock
  std::optional<event::Microseconds> held_since;          ///< since then an open transaction holds last_stable_offset
  std::optional<std::chrono::microseconds> held_for;
  bool any_live = false;                     ///< a daemon is running
  std::optional<std::string> halted_reason;  ///< for people
  std::optional<event::Microseconds> halted_at;
  std::optional<event::OffsetRange> gap;       ///< lost in Kafka; waits for accept_gap
  std::optional<std::string> new_incarnation;  ///< the topic's new id; waits for accept_recreated
  event::OffsetSet gaps;                       ///< accepted before

  /// Whether a live daemon has recently heard the end of the partition. Otherwise the lag is unknown.
  bool is_end_known() const;
  /// nullopt: unknown.
  std::optional<std::int64_t> lag() const;
  /// Whether the position has reached an open transaction.
  bool is_held() const;
};

struct PartitionFilter {
  std::vector<std::string> topics;  ///< exact or prefix*; empty = all
  bool only_newest = false;
  bool only_halted = false;
};
std::vector<PartitionState> read_partitions(inbox::Connection& connection, const PartitionFilter& filter);

/// The skipped offsets and the position after them.
struct AcceptedGap {
  event::OffsetRange gap;
  std::int64_t position = 0;
};

/// Resumes a halted partition after the records that Kafka lost. nullopt: gap or position differ from `seen`.
std::optional<AcceptedGap> accept_gap(inbox::Connection& connection, const PartitionState& seen,
                                      const std::string& actor);

/// The effect of reading a partition from another offset.
struct SeekPlan {
  std::optional<std::int64_t> target;  ///< nullopt: no event was received since that time
  std::int64_t position = 0;
  std::int32_t epoch = 0;
  std::int64_t known = 0;  ///< events between target and position whose ids the ledger has
};
/// From `offset`, or from the first event received since that time. Reads all of the ledger.
SeekPlan plan_seek(inbox::Connection& connection, std::int32_t shard_id, std::optional<std::int64_t> offset,
                   std::optional<event::Microseconds> since);

/// Moves the position; returns the position before. nullopt: the shard has another epoch, is halted, or is not the
/// newest.
std::optional<std::int64_t> seek(inbox::Connection& connection, std::int32_t shard_id, std::int32_t epoch,
                                 std::int64_t target, const std::string& actor);

struct AcceptedRecreation {
  std::int32_t partition = 0;
  std::string old_incarnation;
  std::string new_incarnation;
};

/// Starts partitions of a topic that was deleted and created again, all or none. None: a partition no longer waits for
/// the incarnation in `seen`.
std::vector<AcceptedRecreation> accept_recreated(inbox::Connection& connection, const std::vector<PartitionState>& seen,
                                                 const std::string& actor);

}  // namespace inboxd::operations
