#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "consumer/batch.hpp"
#include "inbox/connection.hpp"
#include "inbox/shards.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// A shard that the database has elsewhere than its ingester has put it last.
struct Displaced {
  Shard* shard = nullptr;
  std::optional<std::int64_t> next_offset;  ///< nothing: the database does not know the shard, or as another partition
  /// The database has lost what it had: it was restored, or failed over to a standby that was behind. Otherwise
  /// somebody has moved it on.
  bool is_behind = false;
};

/// Those of the shards that the database has elsewhere.
std::vector<Displaced> displaced(const std::vector<Shard*>& shards, const std::vector<inbox::ShardPlace>& places);

/// When an ingester compares its positions with the database's. A batch finds out by itself, but on a partition that is
/// quiet none comes: what a database has lost that was set back would be missing until the next record. One ingester's,
/// on its thread, and only while none of its batches is under way: then what it last stored is what has to be there.
class PositionCheck final {
 public:
  using Clock = std::chrono::steady_clock;
  using Shards = std::map<kafka::TopicPartition, Shard>;

  /// At intervals, and at once on another session than the last time: the server may be another one.
  bool is_due(int generation, Clock::time_point now) const;
  /// One question for all shards that are being read. Throws what inbox::describe reads; is due again soon then.
  std::vector<Displaced> run(inbox::Connection& connection, Shards& shards, Clock::time_point now);

 private:
  int generation_ = 0;
  Clock::time_point next_at_{};
};

}  // namespace inboxd::consumer
