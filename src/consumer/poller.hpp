#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mailbox.hpp"
#include "base/mutex.hpp"
#include "base/repeats.hpp"
#include "consumer/ingester.hpp"
#include "consumer/messages.hpp"
#include "consumer/partition_lag.hpp"
#include "consumer/partition_life.hpp"
#include "consumer/partition_status.hpp"
#include "consumer/recreated_topics.hpp"
#include "kafka/credentials.hpp"
#include "kafka/end_offsets.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// The poll thread: serves the client library (rebalances, commits, errors). It never touches the database, so the
/// group stays stable while the database is away. Partitions are assigned paused; an ingester looks up their position;
/// the poll thread seeks and resumes them.
class Poller final {
 public:
  /// Offsets are committed at that interval, on revoke and at the end.
  Poller(PartitionStatus& status, base::Logger& log, std::chrono::seconds commit_interval = std::chrono::seconds{1});
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// Sets the callbacks that the poll thread serves, before the client is made.
  void prepare(rd_kafka_conf_t* conf);
  /// The credentials that both clients get after a connection has failed. Call before `start`.
  void use(kafka::Credentials credentials);
  /// A connection failed, and certificates or other properties have changed since the clients were made. Any thread.
  bool is_outdated() const { return is_outdated_; }
  /// Subscribes and polls. Without a subscription there is no group membership: it reads the partitions of `read`. The
  /// ingesters outlive the thread.
  void start(const kafka::Clients& clients, std::vector<std::string> subscription, std::vector<Ingester*> ingesters);
  /// Without a subscription: reads exactly these partitions, also with the next client. Any thread.
  void read(std::set<kafka::TopicPartition> partitions);
  /// Commits the stored offsets and leaves the group, within about three seconds even if the brokers do not answer.
  void request_stop();
  /// Ends without the brokers: no commit, no leaving. Then `start` may be called with another client.
  void abandon();
  void join();

  base::Mailbox<ToPoller>& mailbox() { return messages_; }
  const std::atomic<std::uint64_t>& revocations() const { return revocations_; }
  const RecreatedTopics& recreated() const { return recreated_; }
  /// The loop's last beat: steady clock, nanoseconds.
  const base::Heartbeat& heartbeat() const { return heartbeat_; }
  /// Partitions that are being read, and all that are assigned.
  int reading() const { return reading_.load(); }
  int assigned() const { return assigned_.load(); }
  /// After the end: the client library still waits for brokers, and only the end of the process stops it.
  bool left_behind() const { return left_behind_; }
  /// The client has failed for good (fenced static membership): the process has to restart.
  bool failed() const { return failed_.load(); }
  /// Since when the member has no assignment, not even an empty assignment.
  std::optional<std::chrono::steady_clock::time_point> unjoined_since() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Partition {
    Assignment assignment;
    kafka::Queue queue;
    Ingester* ingester = nullptr;
    PartitionLife life;
    PartitionLag lag;
  };
  /// Answers of a reading of the mailbox, by partition.
  using Found = std::map<kafka::TopicPartition, PositionFound>;

  static void on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*, void* self);
  static void on_commit(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*, void* self);
  static void on_error(rd_kafka_t*, int code, const char* reason, void* self);
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text);

  // poller.cpp: the loop, the group, offsets.
  void subscribe();
  void run();
  void wake();
  void poll();
  void handle_error(const kafka::Message& message);
  int wait_ms() const;
  void read_messages();
  void every_second();
  void check_fatal();
  void commit();
  void note_committed(rd_kafka_resp_err_t error, const rd_kafka_topic_partition_list_t* offsets);
  void commit_and_wait(int wait_ms);
  void leave();
  void count_partitions();
  void complain(std::string_view slug, const std::string& reason);

  // poller_partitions.cpp
  void assign(rd_kafka_topic_partition_list_t* partitions);
  void revoke(rd_kafka_topic_partition_list_t* partitions);
  bool subscribes() const { return !subscription_.empty(); }
  bool is_incremental() const;
  void follow_share();
  void add(const kafka::TopicPartition& partition);
  Partition* current(const Assignment& assignment);
  void act(Partition& partition, PartitionLife::Action action);
  void pause(const Partition& partition);
  void request_due_look_ups();
  void seek_and_resume(const Found& found);
  void rejoin_group();

  // poller_watermarks.cpp
  void update_watermarks();
  void read_fetched_watermarks();
  void query_watermarks();
  void take_answers();
  void send_watermarks(Clock::time_point now);

  PartitionStatus& status_;
  base::Logger& log_;
  const std::chrono::seconds commit_interval_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_t* query_client_ = nullptr;
  std::string group_;
  std::vector<std::string> subscription_;
  std::vector<Ingester*> ingesters_;
  std::map<kafka::TopicPartition, Partition> partitions_;
  std::uint64_t next_generation_ = 1;
  Clock::time_point next_second_{}, next_watermarks_{}, next_stable_query_{};
  int seconds_ = 0;
  Clock::time_point next_rejoin_{};
  kafka::Credentials credentials_;
  std::atomic<bool> is_outdated_{false};
  base::Repeats repeats_;
  base::Mailbox<ToPoller> messages_{[this] { wake(); }};
  base::Mutex wake_mutex_;
  kafka::Queue wake_ GUARDED_BY(wake_mutex_);  ///< the queue that the thread polls, while it does
  base::Mutex share_mutex_;
  std::set<kafka::TopicPartition> share_ GUARDED_BY(share_mutex_);  ///< to read, without a subscription
  bool has_share_changed_ GUARDED_BY(share_mutex_) = false;
  std::atomic<std::uint64_t> revocations_{0};
  RecreatedTopics recreated_;
  kafka::EndOffsetsRequest high_request_, stable_request_;
  /// Commits without an answer. A second commit would wait in the library for the first, and could keep an assignment
  /// from ending.
  int pending_commits_ = 0;
  kafka::PartitionList lower_;  ///< offsets below the group's, to commit first; null: none
  bool leaving_ = false;
  bool left_behind_ = false;
  bool shows_debug_ = false;  ///< the user's properties ask the client library for debug lines
  base::Heartbeat heartbeat_;
  std::atomic<int> reading_{0}, assigned_{0};
  std::atomic<bool> failed_{false}, stopping_{false}, is_abandoned_{false};
  std::atomic<Clock::rep> unjoined_since_{0};  ///< 0: joined
  std::thread thread_;
};

}  // namespace inboxd::consumer
