#pragma once
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// An assignment of a partition. A partition that is assigned again has a new generation; messages that carry the old
/// generation are stale.
struct Assignment {
  kafka::TopicPartition partition;
  std::uint64_t generation = 0;
  std::uint64_t lookup = 0;  ///< number of the latest look-up: messages about an older look-up are stale
};

/// The metadata of a committed offset; the list owns the copy.
inline void set_metadata(rd_kafka_topic_partition_t& offset, const std::string& metadata) {
  offset.metadata = std::malloc(metadata.size());
  if (offset.metadata == nullptr) return;
  offset.metadata_size = metadata.size();
  std::memcpy(offset.metadata, metadata.data(), metadata.size());
}

// From the poll thread to an ingester, handled in the order of sending.

/// Find the position of the partition. The partition is paused: drop all records fetched before.
struct LookUp {
  Assignment assignment;
};
/// The partition was revoked.
struct Forget {
  Assignment assignment;
};
/// Record the ends of logs, as the brokers reported them, for view `lag`.
struct RecordWatermarks {
  struct Mark {
    kafka::TopicPartition partition;
    std::int64_t high = 0;
    std::optional<std::int64_t> stable;
    std::chrono::milliseconds age{0};
  };
  std::vector<Mark> marks;
};
/// Ask the brokers whether a topic was deleted and created again.
struct CheckIncarnations {};
using ToIngester = std::variant<LookUp, Forget, RecordWatermarks, CheckIncarnations>;

// From an ingester to the poll thread. The first, the third and the last answer LookUp.

/// Seek to the offset and resume.
struct PositionFound {
  Assignment assignment;
  std::int64_t offset = 0;
  std::int32_t leader_epoch = -1;
  /// The partition was halted, and nothing has been read since. HaltCleared follows the first read.
  bool was_halted = false;
  /// The group has committed more than the database has: lower its offset.
  bool is_behind_group = false;
  std::string commit_metadata = {};  ///< see commit_metadata()
};
/// The partition was found with `was_halted` and is read again: its reason is cleared.
struct HaltCleared {
  Assignment assignment;
};
/// The partition is halted; the reason is in table shard. Look it up again from time to time.
struct Halted {
  Assignment assignment;
  /// The position belongs to the partition's present log, so the end of the log gives a lag.
  bool has_lag = true;
};
/// The ingester no longer trusts the position: pause the partition and look it up again.
struct PositionDoubted {
  Assignment assignment;
};
/// The database or the brokers did not answer: look the partition up again soon.
struct LookUpFailed {
  Assignment assignment;
};
using ToPoller = std::variant<PositionFound, HaltCleared, Halted, PositionDoubted, LookUpFailed>;

}  // namespace inboxd::consumer
