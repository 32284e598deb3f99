#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "base/mailbox.hpp"
#include "base/repeats.hpp"
#include "consumer/board.hpp"
#include "consumer/clients.hpp"
#include "consumer/ingester.hpp"
#include "consumer/letters.hpp"
#include "consumer/log_end.hpp"
#include "consumer/recreated.hpp"
#include "kafka/ends.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// The poll thread: serves the client library (rebalances, commits, errors) and never touches the database, so that
/// the group stays stable whatever the database does. Partitions are assigned paused; an ingester looks their position
/// up; the poll thread seeks and resumes them.
class Poller final {
 public:
  /// What is stored is committed at that interval, besides on revoke and at the end.
  Poller(Board& board, base::Logger& log, std::chrono::seconds commit_every = std::chrono::seconds{1});
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// Sets the callbacks that the poll thread serves, before the client is made.
  void prepare(rd_kafka_conf_t* conf);
  /// Subscribes and polls. The ingesters outlive the thread.
  void start(const Clients& clients, std::vector<std::string> subscription, std::vector<Ingester*> ingesters);
  /// Commits what is stored, leaves the group, ends: within some three seconds, also where the brokers are silent.
  void request_stop();
  void join();

  base::Mailbox<ToPoller>& mailbox() { return letters_; }
  const std::atomic<std::uint64_t>& revocations() const { return revocations_; }
  const RecreatedTopics& recreated() const { return recreated_; }
  std::int64_t last_moved() const { return last_moved_.load(); }
  /// Partitions that are being read, and all that are assigned.
  int running() const { return running_.load(); }
  int assigned() const { return assigned_.load(); }
  /// After the end: the client library still waits for brokers. Nothing but the end of the process ends it.
  bool left_behind() const { return left_behind_; }
  /// The client cannot go on (fenced static membership): the process has to start again.
  bool failed() const { return failed_.load(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Partition {
    Assignment assignment;
    kafka::Queue queue;
    Ingester* ingester = nullptr;
    bool running = false;
    /// Stood still since it was assigned, or last read; also while it is asked for again and nothing has come yet: a
    /// refusal that lasts is told by the client library only once.
    bool halted = false;
    bool has_lag = true;  ///< as Halted says
    LogEnd end;
    /// Refusals to seek in a row because the library does not read the partition: it may have ended it.
    int refusals = 0;
    /// When to look the position up (again); far away while an answer is awaited or the partition runs.
    Clock::time_point ask_at = Clock::time_point::max();
  };

  static void on_rebalance(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*, void* self);
  static void on_commit(rd_kafka_t*, rd_kafka_resp_err_t, rd_kafka_topic_partition_list_t*, void* self);
  static void on_error(rd_kafka_t*, int code, const char* reason, void* self);
  static void on_log(const rd_kafka_t* client, int level, const char* facility, const char* text);

  void subscribe();
  void run();
  void wake();
  void poll();
  void complained(const kafka::Message& message);
  int wait_ms() const;
  void read_letters();
  void ask_where_due();
  void every_second();
  void commit();
  void assign(rd_kafka_topic_partition_list_t* partitions);
  void revoke(rd_kafka_topic_partition_list_t* partitions);
  void add(const kafka::TopicPartition& partition);
  Partition* current(const Assignment& assignment);
  void pause(Partition& partition);
  void ask(Partition& partition);
  void seek_and_resume(const std::vector<Found>& found);
  void join_again();
  void commit_and_wait(int wait_ms);
  void leave();
  void follow_ends();
  void ask_for_ends();
  void read_ends();
  void note_watermarks();
  void count();
  void complain(const std::string& sentence, const std::string& reason);

  Board& board_;
  base::Logger& log_;
  const std::chrono::seconds commit_every_;
  rd_kafka_t* client_ = nullptr;
  rd_kafka_t* asker_ = nullptr;
  std::string group_;
  std::vector<std::string> subscription_;
  std::vector<Ingester*> ingesters_;
  std::map<kafka::TopicPartition, Partition> partitions_;
  std::uint64_t next_generation_ = 1;
  Clock::time_point next_second_{};
  int seconds_ = 0;
  Clock::time_point next_join_{};
  base::Repeats repeats_;
  base::Mailbox<ToPoller> letters_{[this] { wake(); }};
  std::mutex wake_mutex_;
  kafka::Queue wake_;  ///< what the thread polls, while it does
  std::atomic<std::uint64_t> revocations_{0};
  RecreatedTopics recreated_;
  kafka::EndsQuestion ends_;
  bool leaving_ = false;
  bool left_behind_ = false;
  bool shows_debug_ = false;                   ///< somebody asked the client library for debug lines
  std::atomic<std::int64_t> last_moved_{0};
  std::atomic<int> running_{0}, assigned_{0};
  std::atomic<bool> failed_{false}, stopping_{false};
  std::thread thread_;
};

}  // namespace inboxd::consumer
