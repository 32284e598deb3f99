#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"

namespace inboxd::inbox {

/// Which of how many databases that share topics a schema belongs to.
struct RecordedShard {
  int index = 0;
  int of = 1;
  bool operator==(const RecordedShard&) const = default;
};
/// As recorded at the first start; nullopt: there was none.
std::optional<RecordedShard> recorded_shard(Connection& connection);
/// Records it, unless a start has; returns the recorded shard.
RecordedShard record_shard(Connection& connection, const RecordedShard& configured);

/// The right to read the partitions of this database.
struct IngestLease {
  base::Uuid owner;
  std::int64_t fence = 0;
  RecordedShard shard{};  ///< as the owner is configured
};
/// False: another process has it, or the schema belongs to another shard by now.
bool take_ingest_right(Connection& connection, const IngestLease& lease, std::chrono::milliseconds length);
/// False: it was lost.
bool renew_ingest_right(Connection& connection, const IngestLease& lease, std::chrono::milliseconds length);
void release_ingest_right(Connection& connection, const IngestLease& lease);

}  // namespace inboxd::inbox
