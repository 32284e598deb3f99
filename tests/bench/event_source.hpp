#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "base/arena.hpp"
#include "event/event.hpp"
#include "event/offset_set.hpp"
#include "generator.hpp"
#include "options.hpp"

namespace inboxd::bench {

/// Consecutive events of a partition.
struct Slice {
  int partition = 0;
  event::OffsetRange offsets;
};

/// Generated events in the form that ingest takes: by partition, then offset. `shard_id` holds the partition.
struct SourceBatch {
  std::vector<Slice> slices;
  std::vector<event::Event> events;
  std::unique_ptr<base::Arena> bytes;
};

/// Generates the records of a worker, in batches. Each worker has its own partitions and takes the same number of
/// records from each. At most a single batch is in memory.
class EventSource final {
 public:
  /// The worker's part of `options.events` events. `seed` decides their ids; offsets start at `first_offset`.
  EventSource(const Options& options, int worker, std::uint64_t seed, std::int64_t first_offset = 0);

  /// Returns false at the end.
  bool next(SourceBatch& batch);

  /// Number of events of all workers: `options.events`, rounded down to equal parts per partition.
  static std::int64_t total(const Options& options);

 private:
  void add_event(int partition, std::int64_t offset, SourceBatch& batch);

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
