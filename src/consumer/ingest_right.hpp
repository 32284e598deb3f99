#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/result.hpp"
#include "base/uuid.hpp"
#include "base/wake_signal.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "consumer/partition_status.hpp"
#include "inbox/connection.hpp"
#include "inbox/ingest_right.hpp"
#include "inbox/watchdog.hpp"
#include "kafka/group.hpp"
#include "kafka/handle.hpp"

namespace inboxd::consumer {

/// Of several databases that share topics, each has partitions of its own, and one instance that reads them: takes the
/// database's ingest right, and says which partitions to read while it has it. It has its own thread and connection.
/// Construct → start() → request_stop() → join().
class IngestRight final {
 public:
  using Clock = std::chrono::steady_clock;
  using Partitions = std::set<kafka::TopicPartition>;
  /// The outside, called by the thread.
  struct Calls {
    std::function<std::shared_ptr<rd_kafka_t>()> query_client;  ///< null while clients are replaced
    std::function<void(Partitions)> read;                       ///< exactly these partitions; none without the right
  };

  IngestRight(const config::Settings& settings, const base::Uuid& owner, const config::Topics& topics, Calls calls,
              PartitionStatus& status, inbox::Watchdog& watchdog, base::Logger& log);
  ~IngestRight();
  IngestRight(const IngestRight&) = delete;
  IngestRight& operator=(const IngestRight&) = delete;

  void start();
  /// Nothing may be read any more: releases the right.
  void request_stop();
  void join();

  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  void run();
  void take_or_renew(Clock::time_point now);
  void lose(const std::string& reason);
  void release();
  void find_partitions(Clock::time_point now);
  std::string members_text(Clock::time_point now);
  bool is_silent() const;
  bool hears_brokers();
  base::Result<std::vector<std::string>> list_topics(rd_kafka_t* client);
  std::chrono::milliseconds patience() const;

  const config::Settings& settings_;
  const config::Topics& topics_;
  const Calls calls_;
  PartitionStatus& status_;
  base::Logger& log_;
  base::Heartbeat heartbeat_;
  base::WakeSignal wake_;
  std::atomic<bool> stopping_{false};

  // Used by the thread alone.
  inbox::Connection connection_;
  inbox::IngestLease lease_;
  Clock::time_point heard_ = Clock::now();       ///< the brokers' last answer
  std::optional<Clock::time_point> held_until_;  ///< nullopt: another instance has the right, or none
  Partitions own_;  ///< to read; none without the right
  kafka::RecentMembers members_;
  std::thread thread_;
};

}  // namespace inboxd::consumer
