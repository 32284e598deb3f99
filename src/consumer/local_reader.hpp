#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/logger.hpp"
#include "consumer/batch_writer.hpp"
#include "consumer/partition_status.hpp"
#include "inbox/gaps.hpp"
#include "inbox/local_events.hpp"
#include "trace/tracer.hpp"

namespace inboxd::consumer {

/// Reads enqueued events in order of their numbers, gives them the next offsets of their topic's shard, and stores them
/// like a batch of Kafka. The positions and the numbers that are read hold for one lease: after any doubt the owner
/// makes another reader. Used on the thread of LocalSource.
class LocalReader final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Found {
    none,
    some,
    full,     ///< as many as a batch may have: read again at once
    doubted,  ///< the positions are not as expected, or nothing was stored: make another reader
  };
  struct Context {
    const config::Settings& settings;
    inbox::Connection& connection;
    BatchWriter& writer;
    HandOff& hand_off;
    PartitionStatus& status;
    base::Logger& log;
    trace::Tracer* tracer = nullptr;    ///< null: no traces
    std::function<bool()> give_up = {};  ///< between two tries to store a batch
  };
  /// No event below `low_water` is left. Reads the positions; throws DatabaseError. `assigned`: the shards of which the
  /// dispatcher knows that this instance reads them.
  LocalReader(Context context, std::int64_t low_water, std::map<std::int32_t, kafka::TopicPartition>& assigned);

  /// Reads and stores a batch. Throws DatabaseError.
  Found read(Clock::time_point now);
  /// No event below is left.
  std::int64_t low_water() const { return gaps_.lowest(highest_ + 1); }
  /// Ends of the topics, for `status`. At intervals; throws DatabaseError.
  void observe(const base::Uuid& owner, Clock::time_point now);

 private:
  void look_up();
  bool store_old_gaps(inbox::OutboxBite bite);
  bool store(const inbox::LocalRows& rows);
  void fill(Batch& batch, const inbox::LocalRows& rows);
  bool note_stored(const Batch& batch, const BatchWriter::Written& written);

  const Context context_;
  std::map<std::int32_t, kafka::TopicPartition>& assigned_;
  std::map<std::int32_t, Shard> shards_;  ///< by id
  std::int64_t highest_;                  ///< number read
  inbox::Gaps gaps_;
  bool found_some_ = false;
  Clock::time_point next_observation_{}, next_record_{};
};

}  // namespace inboxd::consumer
