#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.hpp"
#include "event/event.hpp"
#include "event/offset_set.hpp"
#include "inbox/connection.hpp"
#include "inbox/generations.hpp"

namespace inboxd::inbox {

/// How far a shard advances in a batch: from its expected position to the next.
struct ShardStep {
  std::int32_t shard_id = 0;
  std::int32_t epoch = 0;
  std::int64_t expected = 0;
  std::int64_t next = 0;
  std::int32_t leader_epoch = -1;
};

/// A delivery to insert: events of the batch that a handler subscribes to.
struct PlannedRun {
  std::int32_t handler_id = 0;
  std::int32_t shard_id = 0;
  event::OffsetSet pending;
  /// 0: due now, for any instance to claim. Otherwise born leased to `owner` for that long.
  std::chrono::milliseconds lease{0};
  std::optional<std::int32_t> sequence{};  ///< of a sequential handler
  std::int64_t sequence_fence = 0;         ///< if leased: of this process, its owner
  std::optional<event::Microseconds> due{};  ///< not leased, and not due before: the `deliver_at` of its events
};

/// A record that cannot become an event, kept raw.
struct QuarantinedRecord {
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  std::string reason;  ///< no_id, bad_id, too_large, undecodable, poison
  std::string detail;
  event::MaybeBytes key, payload, headers;  ///< payload is null if it was too large to keep
  std::int64_t payload_size = 0;
  std::int64_t digest = 0;
  std::optional<event::Microseconds> kafka_timestamp;
};

/// Makes a sentence fit for `detail`: a line of limited length.
std::string quarantine_detail(std::string_view sentence);

/// A row of local_event that an event of the batch comes from.
struct StagedEvent {
  std::int64_t id = 0;
  base::Uuid event_id;
};

/// An ingest transaction. Its events and records are views into memory that must outlive the call.
struct IngestBatch {
  base::Uuid owner;
  std::int64_t fence = 0;
  std::int64_t routing_version = 0;
  std::vector<ShardStep> steps;      ///< sorted by shard_id, each shard once
  std::vector<event::Event> events;  ///< by shard, then offset
  std::vector<PlannedRun> runs;
  std::vector<QuarantinedRecord> rejected;
  /// Ids that frozen generations of the ledger may have, by the generations of `routing_version`. nullopt: not known;
  /// all generations are read.
  std::optional<std::vector<Suspect>> suspects{};
  std::vector<StagedEvent> staged;  ///< deleted with the transaction; if any is gone, all shards are mismatched
};

struct BornRun {
  std::int64_t delivery_id = 0;             ///< 0: the run had no new event
  std::optional<event::OffsetSet> pending;  ///< set if duplicates left less than planned
};

struct IngestResult {
  bool routing_is_stale = false;         ///< nothing was written: read the routing again
  bool sequence_is_lost = false;         ///< nothing was written: another process owns the sequence of a leased run
  std::vector<std::int32_t> mismatched;  ///< shards at another position than expected: nothing of them was stored
  std::vector<BornRun> born;             ///< for each planned run, in order
  std::int64_t stored = 0;
  std::int64_t duplicates = 0;
  std::int64_t conflicts = 0;
  event::Microseconds received_at = 0;
  std::vector<std::int32_t> resend_seconds{};  ///< of each duplicate from another place: the time since the first
};

/// Stores a batch and commits. Throws DatabaseError. After `in_doubt`, run the same batch again: the position decides.
IngestResult ingest(Connection& connection, const IngestBatch& batch);

/// Ingests the batch, but rolls back at the end. Throws `poison` if the database rejects an event.
void rehearse(Connection& connection, const IngestBatch& batch);

/// Releases deliveries that were born leased to `owner` by batches with these fences, for these handlers. Returns their
/// number. For batches in doubt that turned out committed: their deliveries were never handed over in memory.
std::int64_t release_born(Connection& connection, const base::Uuid& owner, const std::vector<std::int64_t>& fences,
                          const std::vector<std::int32_t>& handlers);

}  // namespace inboxd::inbox
