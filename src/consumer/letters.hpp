#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "inbox/shards.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// A partition as assigned once: a partition that comes back has a new generation, and what still carries the old one
/// is stale.
struct Assignment {
  kafka::TopicPartition partition;
  std::uint64_t generation = 0;
  std::uint64_t ask = 0;                       ///< which look-up this is about: an answer to an older one is stale
};

// What the poll thread asks of an ingester, in the order in which it is sent.

/// Find where the partition is read from. It is paused: everything fetched before is dropped.
struct LookUp {
  Assignment assignment;
};
/// The partition is no longer ours.
struct Forget {
  Assignment assignment;
};
/// What the broker said of ends, for view `lag`.
struct NoteWatermarks {
  std::vector<std::pair<kafka::TopicPartition, std::int64_t>> high;
};
/// Ask the brokers whether the topics are still those that were read so far.
struct CheckIncarnations {};
using ToIngester = std::variant<LookUp, Forget, NoteWatermarks, CheckIncarnations>;

// What an ingester answers or asks of the poll thread.

/// Seek there and resume.
struct Found {
  Assignment assignment;
  std::int64_t offset = 0;
  std::int32_t leader_epoch = -1;
  /// It stood still with a reason, and nothing was read since: Readable says when.
  bool is_unproven = false;
  /// The group has committed more than the database has: its offset is to go back.
  bool is_behind_group = false;
};
/// Something was read of a partition that was found unproven: its reason is gone.
struct Readable {
  Assignment assignment;
};
/// The partition is out of step with the database: pause it and ask again.
struct OutOfStep {
  Assignment assignment;
};
/// The partition stands still with a reason (in table shard); asked again from time to time.
struct Halted {
  Assignment assignment;
  /// Its position is one in the log that the partition has now, so that the log's end says how far it is behind.
  bool has_lag = true;
};
/// Neither found nor halted, for a passing reason (database or brokers away).
struct AskAgain {
  Assignment assignment;
};
using ToPoller = std::variant<Found, Readable, OutOfStep, Halted, AskAgain>;

}  // namespace inboxd::consumer
