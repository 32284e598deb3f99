#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "event/offsets.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// A shard and where its next record is read.
struct ShardPosition {
  std::int32_t shard_id = 0;
  std::int32_t epoch = 0;
  std::int64_t next_offset = 0;
  std::int32_t leader_epoch = -1;
  std::string incarnation;                     ///< of the newest shard of that topic and partition
  /// Nothing was stored since it was put there: a first start, an accepted gap or incarnation.
  bool is_beginning = false;
  /// The log that offsets are of: another one after an accepted truncation, or where the topic was left for another and
  /// accepted again, though the topic is the same.
  std::string log_id;
  std::optional<std::string> halted_reason;    ///< for people: what is done about it follows from the next two
  bool has_gap = false;                        ///< records are lost in Kafka: waits for `shards accept-gap`
  std::optional<std::string> new_incarnation;  ///< created again under this id: waits for `shards accept-incarnation`

  /// Whether it stands still until an operator decides; what is halted otherwise is tried again by itself.
  bool needs_operator() const { return has_gap || new_incarnation; }
};

/// The newest shard of a Kafka partition, or nothing where none has a position yet.
std::optional<ShardPosition> find_position(Connection& connection, const std::string& topic, std::int32_t partition);

/// Returns when a failover would find what this connection has read so far, too: what an operator kept from waiting for
/// the synchronous standby, or a restart of the server, is seen before the standby has it.
void await_standby(Connection& connection);

/// Where a shard is now, and whose it is.
struct ShardPlace {
  std::int32_t shard_id = 0;
  std::string topic;
  std::int32_t partition = 0;
  std::int32_t epoch = 0;
  std::int64_t next_offset = 0;
};

/// Where these shards are now; a shard that the database does not know is left out. Nothing: it was a standby that was
/// asked, which says nothing about what is stored.
std::optional<std::vector<ShardPlace>> read_positions(Connection& connection,
                                                      const std::vector<std::int32_t>& shard_ids);

/// A partition's first position: where it begins.
struct FirstPosition {
  std::string topic;
  std::string incarnation;
  std::int32_t partition = 0;
  /// Nothing: it cannot be told yet. The shard is noted as put off, with that reason, and gets its position later.
  std::optional<std::int64_t> next_offset;
};

/// Topics of which any partition has a position.
std::vector<std::string> known_topics(Connection& connection);

/// When an entry of the configuration (a topic's name or a pattern) has had its first start; nothing: it has not.
std::optional<event::Microseconds> started_at(Connection& connection, const std::string& entry);

/// Whether a partition was there at the first start of its entry, and its first position was put off.
bool is_put_off(Connection& connection, const std::string& topic, std::int32_t partition);

/// Writes first positions in one transaction; those that are there already stay as they are, so that of two instances
/// that resolve `end` a moment apart one wins for each partition. With an entry they are those of its first start,
/// which is noted; where that has been meanwhile, nothing is written. Returns how many were.
int write_first_positions(Connection& connection, const std::vector<FirstPosition>& positions,
                          const std::optional<std::string>& entry = std::nullopt);

/// Whether the reason that a shard is halted for already stays.
enum class Halt { keep_first, replace };

/// Halts a shard with a reason that was met at that position, unless it has another one by now: somebody else reads it.
/// `gap` is what is lost in Kafka, for `shards accept-gap`.
void halt_shard(Connection& connection, const ShardPosition& at, const std::string& reason,
                std::optional<event::OffsetRange> gap, Halt how = Halt::keep_first);

/// Halts a shard whose topic was created again, whatever it was halted for before: the reader of the old log went out
/// of the new one's range. `new_incarnation` is the topic's new id, for `shards accept-incarnation`.
void halt_recreated(Connection& connection, std::int32_t shard_id, const std::string& reason,
                    const std::string& new_incarnation);

/// Clears a reason that has passed by itself (an authorisation given meanwhile), if it is still that one. Gaps stay.
/// Returns whether it was.
bool resume_shard(Connection& connection, std::int32_t shard_id, const std::string& reason);

/// What the broker last said of the ends of partitions: for view `lag`.
struct Watermark {
  std::int32_t shard_id = 0;
  std::int64_t high = 0;
};
void record_watermarks(Connection& connection, const std::vector<Watermark>& watermarks);

}  // namespace inboxd::inbox
