#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/mailbox.hpp"
#include "base/repeats.hpp"
#include "base/stop_signal.hpp"
#include "consumer/batch.hpp"
#include "consumer/batch_writer.hpp"
#include "consumer/messages.hpp"
#include "consumer/partition_status.hpp"
#include "consumer/position_lookup.hpp"
#include "consumer/readings.hpp"
#include "consumer/recreated_topics.hpp"
#include "consumer/shard.hpp"
#include "consumer/unobserved_watermarks.hpp"
#include "trace/tracer.hpp"

namespace inboxd::formats {
class Decoders;
}

namespace inboxd::consumer {

/// The parts of the consumer that an ingester uses; all outlive it.
struct IngesterContext {
  const config::Settings& settings;
  base::Uuid owner;
  kafka::Clients clients;
  const config::Topics& topics;
  inbox::Registrations& registrations;
  HandOff& hand_off;
  IngestCounts& counts;
  PartitionStatus& status;
  base::Mailbox<ToPoller>& poller;
  /// Rises with each revoke: a batch that cannot be stored meanwhile is dropped.
  const std::atomic<std::uint64_t>& revocations;
  const RecreatedTopics& recreated;
  formats::Decoders& decoders;
  inbox::Watchdog& watchdog;
  base::Logger& log;
  trace::Tracer* tracer = nullptr;  ///< null: no traces
};

/// Reads and stores a share of the partitions: with its own thread, database connection, and queue of the client
/// library that its partitions are forwarded to. The library bounds the queue (events and bytes) and stops fetching
/// while it is full, so nothing is paused. Records that arrive during a COMMIT are the next batch.
class Ingester final {
 public:
  Ingester(IngesterContext context, int number);
  ~Ingester();
  Ingester(const Ingester&) = delete;
  Ingester& operator=(const Ingester&) = delete;

  void start();
  /// The current batch is finished, or dropped if the database is away.
  void request_stop();
  void join();
  /// After join(): the dispatcher hears that no partition is read.
  void forget_all();

  /// From the poll thread. A message is handled before any record that is fetched after it was sent.
  void send(ToIngester message);
  rd_kafka_queue_t* queue() const { return queue_.get(); }
  const std::string& name() const { return name_; }
  /// The loop's last beat: steady clock, nanoseconds.
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  struct MessageSource {
    const void* topic;
    std::int32_t partition;
    bool operator==(const MessageSource&) const = default;
  };
  struct HashSource {
    std::size_t operator()(const MessageSource& source) const {
      return std::hash<const void*>{}(source.topic) * 31 + static_cast<std::size_t>(source.partition);
    }
  };
  /// Records that were taken from the queue and are in no batch yet.
  using Taken = std::deque<kafka::Message>;

  // ingester.cpp: the loop.
  void run();
  void run_once();
  void rest();
  void wake();
  /// The heartbeat: before each statement, which may take long.
  void beat() { heartbeat_.beat(); }
  void read_messages();
  void poll_batch(Batch& batch, Taken& taken);
  void process(Batch& batch);
  void ingest(Batch& batch);
  void store(Batch& batch, std::chrono::system_clock::time_point begin);
  void store_offsets(const Batch& batch, const std::vector<std::int32_t>& mismatched);
  bool is_full(const Batch& batch) const;
  void fill(Batch& batch, Taken& taken);
  void add(Batch& batch, kafka::Message message);
  Part& part_for(Batch& batch, Shard& shard);
  Shard* shard_of(const rd_kafka_message_t& message);

  // ingester_partitions.cpp: looked up, doubted, halted, read again, forgotten.
  void handle(const LookUp& message);
  void handle(const Forget& message);
  void handle(const PartitionError& error);
  void hand_off_assignment(Shard& shard, std::int32_t shard_id);
  bool passes_first_fetch_check(Shard& shard, std::int64_t offset);
  void drop_recreated(Batch& batch);
  void look_up_again(Shard& shard);
  void look_up_all_again();
  void halt(Shard& shard, const ReadFailure& failure);
  void refuse(const RefusedRecord& record);
  void clear_halts();

  // ingester_periodic.cpp
  void do_periodic_work(std::uint64_t revocations);
  void handle(const RecordWatermarks& message);
  void handle(const CheckIncarnations& message);
  void start_entries();
  void report_unknown_topics(const std::set<std::string>& topics);
  void check_stalls();
  void check_positions(std::uint64_t revocations);
  void record_unobserved_watermarks();

  IngesterContext context_;
  const std::string name_;
  kafka::Queue queue_;
  inbox::Connection connection_;
  BatchWriter writer_;
  base::Mailbox<ToIngester> messages_{[this] { wake(); }};
  std::deque<ToIngester> unread_;
  base::Repeats repeats_;
  std::map<kafka::TopicPartition, Shard> shards_;
  /// In a row. Kept across assignments, because reading again takes a new assignment.
  std::map<kafka::TopicPartition, int> corrupt_reads_;
  const bool is_first_;  ///< the first ingester also looks after topics and partitions that no ingester reads
  std::map<std::string, std::string> unknown_topics_;   ///< with the remedies
  std::vector<const config::Topic*> entries_to_start_;  ///< of the configuration; the first ingester starts all
  std::chrono::steady_clock::time_point next_start_{};
  PositionCheck position_check_;
  GroupOffsetCheck group_offset_check_;
  UnobservedWatermarks unobserved_watermarks_;  ///< used by the first ingester
  Readings readings_;                           ///< likewise
  std::chrono::steady_clock::time_point next_stall_check_{};
  std::uint64_t taken_ = 0;  ///< messages from the queue
  std::unordered_map<MessageSource, Shard*, HashSource> by_source_;
  std::size_t recreated_seen_ = 0;
  bool any_halt_to_clear_ = false;
  bool looks_up_all_ = false;  ///< after an unexpected error
  std::atomic<int> periodic_pending_{0};
  base::Heartbeat heartbeat_;
  base::StopSignal stop_;
  std::thread thread_;
};

}  // namespace inboxd::consumer
