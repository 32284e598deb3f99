#include "event_source.hpp"

#include <algorithm>
#include <chrono>

namespace inboxd::bench {

std::int64_t EventSource::total(const Options& options) {
  return options.events / options.partitions * options.partitions;
}

EventSource::EventSource(const Options& options, int worker, std::uint64_t seed, std::int64_t first_offset)
    : generator_{seed, options.payload},
      partitions_{options.partitions},
      first_offset_{first_offset},
      per_partition_{options.events / options.partitions} {
  for (int partition = worker; partition < partitions_; partition += options.connections) {
    own_partitions_.push_back(partition);
  }
  per_batch_ = std::max<std::int64_t>(options.batch / static_cast<std::int64_t>(own_partitions_.size()), 1);
}

bool EventSource::next(SourceBatch& batch) {
  if (done_ == per_partition_) return false;
  const std::int64_t count = std::min(per_batch_, per_partition_ - done_);
  batch.slices.clear();
  batch.events.clear();
  batch.bytes = std::make_unique<base::Arena>();
  for (const int partition : own_partitions_) {
    const std::int64_t first = first_offset_ + done_;
    batch.slices.push_back({partition, {first, first + count}});
    for (std::int64_t i = 0; i < count; ++i) add_event(partition, first + i, batch);
  }
  done_ += count;
  return true;
}

void EventSource::add_event(int partition, std::int64_t offset, SourceBatch& batch) {
  // Leave out the first offset: a second source with the same seed repeats the ids.
  const std::int64_t number = (offset - first_offset_) * partitions_ + partition;
  event::Event event;
  event.shard_id = partition;
  event.offset = offset;
  event.event_id = generator_.id(number);
  event.digest = number;
  event.event_type = "order.placed";
  char* const key = batch.bytes->allocate(Generator::key_bytes);
  Generator::write_key(event.event_id, key);
  event.key = std::string_view{key, Generator::key_bytes};
  generator_.write_payload(number, payload_);
  event.payload = batch.bytes->copy(payload_);
  event.kafka_timestamp =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count();
  batch.events.push_back(event);
}

}  // namespace inboxd::bench
