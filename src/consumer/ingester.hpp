#pragma once
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mailbox.hpp"
#include "base/repeats.hpp"
#include "consumer/batch.hpp"
#include "consumer/board.hpp"
#include "consumer/clients.hpp"
#include "consumer/group_offset.hpp"
#include "consumer/letters.hpp"
#include "consumer/partitions.hpp"
#include "consumer/position_check.hpp"
#include "consumer/recreated.hpp"
#include "consumer/store.hpp"
#include "trace/tracer.hpp"

namespace inboxd::consumer {

/// What an ingester shares with the poll thread.
struct IngesterContext {
  const config::Settings& settings;
  base::Uuid owner;
  Clients clients;
  const Topics& topics;
  inbox::Registrations& registrations;
  HandOff& hand_off;
  IngestCounts& counts;
  Board& board;
  base::Mailbox<ToPoller>& poller;
  /// Rises whenever partitions are taken from us: a batch that cannot be stored meanwhile is dropped.
  const std::atomic<std::uint64_t>& revocations;
  const RecreatedTopics& recreated;
  inbox::Watchdog& watchdog;
  base::Logger& log;
  trace::Tracer* tracer = nullptr;             ///< null: no traces
};

/// Reads a share of the partitions and stores what it reads: one thread, one database connection, one queue of the
/// client library that those partitions are forwarded to. The queue is bounded (events and bytes) by the library,
/// which stops fetching while it is full, so there is nothing to pause. What arrived while the last transaction was
/// committing is the next batch.
class Ingester final {
 public:
  Ingester(IngesterContext context, int number);
  ~Ingester();
  Ingester(const Ingester&) = delete;
  Ingester& operator=(const Ingester&) = delete;

  void start();
  /// The batch in hand is finished, or given up where the database is away.
  void request_stop();
  void join();

  /// From the poll thread; read before anything that is fetched afterwards.
  void send(ToIngester letter);
  rd_kafka_queue_t* queue() const { return queue_.get(); }
  const std::string& name() const { return name_; }
  /// When the loop last moved, for the watchdog: steady clock, nanoseconds.
  std::int64_t last_moved() const { return last_moved_.load(); }

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

  void run();
  void turn();
  void read_anew();
  void rest();
  void wake();
  /// For the watchdog: said before whatever asks the database, which may be silent.
  void move();
  void start_entries();
  void read_letters();
  void answer(const LookUp& letter);
  void answer(const Forget& letter);
  void answer(const NoteWatermarks& letter);
  void answer(const CheckIncarnations& letter);

  /// Records that were taken from the queue and are in no batch yet.
  using Taken = std::deque<kafka::Message>;

  void gather(Batch& batch, Taken& taken);
  bool is_full(const Batch& batch) const;
  void fill(Batch& batch, Taken& taken);
  void add(Batch& batch, kafka::Message message);
  Part& part_for(Batch& batch, Shard& shard);
  Shard* shard_of(const rd_kafka_message_t& message);

  void work_off(Batch& batch);
  void ingest(Batch& batch);
  void advance(const Batch& batch, const std::vector<std::int32_t>& mismatched);
  void drop_recreated(Batch& batch);
  void end_standing();
  void listen();
  void check_positions(std::uint64_t revocations);
  void out_of_step(Shard& shard);
  bool is_believed(Shard& shard, std::int64_t offset);
  void handle(const PartitionError& error);
  void halt(Shard& shard, const Break& broken);

  IngesterContext context_;
  const std::string name_;
  kafka::Queue queue_;
  inbox::Connection connection_;
  Store store_;
  base::Mailbox<ToIngester> letters_{[this] { wake(); }};
  std::deque<ToIngester> unread_;
  base::Repeats repeats_;
  std::map<kafka::TopicPartition, Shard> shards_;
  /// In a row; they outlive an assignment, because reading again takes a new one.
  std::map<kafka::TopicPartition, int> corrupt_reads_;
  const bool asks_for_all_;  ///< one of them looks after the topics that nobody reads, too
  /// Entries of the configuration whose first start this ingester sees to: one ingester, all of them.
  std::vector<const config::Topic*> entries_left_;
  std::chrono::steady_clock::time_point start_entries_at_{};
  PositionCheck position_check_;
  GroupOffset group_offset_;
  std::chrono::steady_clock::time_point listen_at_{};
  std::uint64_t taken_ = 0;  ///< messages from the queue
  std::unordered_map<MessageSource, Shard*, HashSource> by_source_;
  std::size_t recreated_seen_ = 0;
  bool any_proven_ = false;  ///< of those that were not readable, some are
  bool reads_anew_ = false;  ///< after something unexpected
  std::atomic<int> chores_pending_{0};
  std::atomic<std::int64_t> last_moved_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace inboxd::consumer
