#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/uuid.hpp"
#include "event/event.hpp"
#include "event/offsets.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// How far one shard moves in a batch: from the offset it must be at to the next one.
struct ShardStep {
  std::int32_t shard_id = 0;
  std::int32_t epoch = 0;
  std::int64_t expected = 0;
  std::int64_t next = 0;
  std::int32_t leader_epoch = -1;
};

/// A delivery to be born: events of the batch that one handler is owed.
struct PlannedRun {
  std::int32_t handler_id = 0;
  std::int32_t shard_id = 0;
  event::OffsetSet pending;
  /// 0: due now, for whoever claims it. Otherwise leased to `owner` for that long.
  std::chrono::milliseconds lease{0};
};

/// A record that cannot become an event, raw.
struct QuarantinedRecord {
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  std::string reason;                          ///< no_id, bad_id, too_large, undecodable, poison
  std::string detail;
  event::MaybeBytes key, payload, headers;     ///< payload is null where it was too large to keep
  std::int64_t payload_size = 0;
  std::int64_t digest = 0;
  std::optional<event::Microseconds> kafka_timestamp;
};

/// One ingest transaction. Views into memory that must outlive the call.
struct IngestBatch {
  base::Uuid owner;
  std::int64_t fence = 0;
  std::int64_t routing_version = 0;
  std::vector<ShardStep> steps;                ///< sorted by shard_id, each shard once
  std::vector<event::Event> events;            ///< by shard, then offset
  std::vector<PlannedRun> runs;
  std::vector<QuarantinedRecord> rejected;
};

struct BornRun {
  std::int64_t delivery_id = 0;                ///< 0: nothing of the run was new
  std::optional<event::OffsetSet> pending;     ///< set where duplicates left less than was planned
};

struct IngestResult {
  bool routing_is_stale = false;               ///< nothing was written: read the handlers again
  std::vector<std::int32_t> mismatched;  ///< shards whose position is not what was expected: nothing of them is stored
  std::vector<BornRun> born;                   ///< one for each run, in order
  std::int64_t stored = 0;
  std::int64_t duplicates = 0;
  std::int64_t conflicts = 0;
  event::Microseconds received_at = 0;
};

/// Stores a batch and commits. Throws (see database_error.hpp); after `in_doubt` run the same batch again: the
/// position decides.
IngestResult ingest(Connection& connection, const IngestBatch& batch);

/// The same without a trace: rolled back at its end. Tells whether the database refuses these events as poison.
void rehearse(Connection& connection, const IngestBatch& batch);

/// What batches under these fences were born with, leased to `owner` for these handlers, is due for anybody again;
/// returns the number of deliveries. For batches that were in doubt and turned out committed: nobody was told what they
/// bore.
std::int64_t give_back_born(Connection& connection, const base::Uuid& owner, const std::vector<std::int64_t>& fences,
                            const std::vector<std::int32_t>& handlers);

}  // namespace inboxd::inbox
