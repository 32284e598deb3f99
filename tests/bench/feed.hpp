#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/arena.hpp"
#include "event/event.hpp"
#include "event/offsets.hpp"
#include "generator.hpp"
#include "options.hpp"

namespace inboxd::bench {

/// Some events of one partition that follow each other.
struct Slice {
  int partition = 0;
  event::OffsetRange offsets;
};

/// Generated events as ingest gets them after decoding: by partition, then offset. `shard_id` holds the partition.
struct FeedBatch {
  std::vector<Slice> slices;
  std::vector<event::Event> events;
  std::unique_ptr<base::Arena> bytes;          ///< what the events point to
};

/// The records from memory of one of several workers: each has partitions of its own and takes the same number from
/// each of them for a batch. Never more than a batch is in memory.
class Feed final {
 public:
  /// The worker's part of `options.events` events; `seed` decides their ids, `first_offset` where their partitions go
  /// on.
  Feed(const Options& options, int worker, std::uint64_t seed, std::int64_t first_offset = 0);

  /// The next batch; false at the end.
  bool next(FeedBatch& batch);

  /// How many events all workers together make: `options.events` in equal parts for the partitions.
  static std::int64_t total(const Options& options);

 private:
  void add_event(int partition, std::int64_t offset, FeedBatch& batch);

  Generator generator_;
  std::vector<int> own_partitions_;
  int partitions_;
  std::int64_t per_batch_;
  std::int64_t first_offset_;
  std::int64_t per_partition_;
  std::int64_t done_ = 0;
  std::string payload_;
};

}  // namespace inboxd::bench
