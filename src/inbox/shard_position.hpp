#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/offset_set.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// A shard and its position.
struct ShardPosition {
  std::int32_t shard_id = 0;
  std::int32_t epoch = 0;
  std::int64_t next_offset = 0;
  std::int32_t leader_epoch = -1;
  std::string incarnation;  ///< of the newest shard of that topic and partition
  /// Nothing was stored since the position was set: after a first start, or an accepted gap or incarnation.
  bool is_beginning = false;
  /// Identifies the log that the offsets belong to. It also changes without a new topic: after an accepted truncation,
  /// or when the same incarnation is accepted again.
  std::string log_id;
  std::optional<std::string> halted_reason;  ///< for people; the next two members decide what happens
  bool has_gap = false;                      ///< records are lost in Kafka; waits for `partitions accept-gap`
  std::optional<std::string>
      new_incarnation;  ///< the topic was created again under this id; waits for `partitions accept-recreated`

  /// Whether it stays halted until an operator decides. Other halts are retried automatically.
  bool needs_operator() const { return has_gap || new_incarnation; }
};

/// The newest shard of a Kafka partition; nullopt: no position yet.
std::optional<ShardPosition> find_position(Connection& connection, const std::string& topic, std::int32_t partition);

/// Returns once the synchronous standby has everything that this connection has read so far. A commit becomes visible
/// before the standby has it if an operator or a server restart ended its wait.
void await_standby(Connection& connection);

/// A shard's partition and current position.
struct ShardPlace {
  std::int32_t shard_id = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::int32_t epoch = 0;
  std::int64_t next_offset = 0;
};

/// The current positions of these shards, without shards that the database does not know. nullopt: the server is a
/// standby, whose data proves nothing about lost commits.
std::optional<std::vector<ShardPlace>> read_positions(Connection& connection,
                                                      const std::vector<std::int32_t>& shard_ids);

/// A partition's first position.
struct FirstPosition {
  std::string topic;
  std::string incarnation;
  std::int32_t partition = 0;
  /// nullopt: still unknown. The shard is stored as halted for that reason, and gets its position later.
  std::optional<std::int64_t> next_offset;
};

/// Topics that have a partition with a position.
std::vector<std::string> known_topics(Connection& connection);

/// The time of the first start of a configured topic name or pattern; nullopt: it has not started yet.
std::optional<event::Microseconds> started_at(Connection& connection, const std::string& entry);

/// Whether a partition existed at the first start of its entry, but still waits for its first position.
bool is_put_off(Connection& connection, const std::string& topic, std::int32_t partition);

/// Writes first positions in a single transaction and returns their number. Existing positions stay: if two instances
/// resolve `end` at slightly different times, either of them wins for each partition. With an entry, it also records
/// the first start of that entry; if that is already recorded, nothing is written.
int write_first_positions(Connection& connection, const std::vector<FirstPosition>& positions,
                          const std::optional<std::string>& entry = std::nullopt);

/// Which reason a shard keeps that is halted already.
enum class Halt { keep_first, replace };

/// Halts a shard for a reason found at that position, unless the position has changed: another instance reads it now.
/// `gap`: the offsets lost in Kafka, for `partitions accept-gap`.
void halt_shard(Connection& connection, const ShardPosition& at, const std::string& reason,
                std::optional<event::OffsetRange> gap, Halt how = Halt::keep_first);

/// Halts a shard whose topic was created again. Replaces any other reason: the old log's reader may have run out of the
/// new log's range first. `new_incarnation`: the topic's new id, for `partitions accept-recreated`.
void halt_recreated(Connection& connection, std::int32_t shard_id, const std::string& reason,
                    const std::string& new_incarnation);

/// Resumes a shard that was halted for this reason, which no longer holds (an authorisation was granted). Gaps stay.
/// Returns false if the shard is halted for another reason.
bool resume_shard(Connection& connection, std::int32_t shard_id, const std::string& reason);

/// The end of a partition as the brokers reported it: for view `lag` and `status`.
struct Watermark {
  std::int32_t shard_id = 0;
  std::int64_t high = 0;                    ///< the high watermark, open transactions included
  std::optional<std::int64_t> stable = {};  ///< the last stable offset, if known
  std::chrono::milliseconds age{0};         ///< since the report
};
void record_watermarks(Connection& connection, const std::vector<Watermark>& watermarks);

/// A shard whose watermark no instance has recorded for some time.
struct UnobservedShard {
  std::int32_t shard_id = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::string incarnation;
};
std::vector<UnobservedShard> unobserved_shards(Connection& connection, std::chrono::milliseconds max_observed_age);

}  // namespace inboxd::inbox
