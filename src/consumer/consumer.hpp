#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "base/stop_signal.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "consumer/hand_off.hpp"
#include "consumer/ingest_right.hpp"
#include "consumer/ingester.hpp"
#include "consumer/local_source.hpp"
#include "consumer/member_watch.hpp"
#include "consumer/partition_status.hpp"
#include "consumer/poller.hpp"
#include "formats/topic_decoder.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::consumer {

/// Into the inbox. For local topics: the reader of enqueued events. For Kafka's topics: the poll thread and the
/// ingesters, and a thread that replaces them and their clients if the client library is stuck, or certificates were
/// rotated; and the ingest right, if several databases share the topics. Construct → start() → request_stop() →
/// join(); stopping twice is allowed. All arguments outlive it.
class Consumer final {
 public:
  Consumer(const config::Settings& settings, const base::Uuid& owner, inbox::Registrations& registrations,
           HandOff& hand_off, inbox::Watchdog& watchdog, base::Logger& log, trace::Tracer* tracer = nullptr);
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  /// Makes the Kafka clients and starts the threads. The problem is a property that the client library refuses.
  std::optional<base::Problem> start();
  /// Starts the reader of enqueued events unless it runs. It reads all local topics that are declared.
  void read_local_topics();
  void request_stop();
  /// Waits until nothing more is stored or handed over; the poll thread leaves the group meanwhile.
  void finish_intake();
  void join();

  const IngestCounts& counts() const { return counts_; }
  /// What maintenance writes, and tells ingest.
  IngestCounts& shared() { return counts_; }
  const Poller& poller() const { return poller_; }
  const PartitionStatus& status() const { return status_; }
  /// Whether the poll thread runs.
  bool reads_kafka() const { return reads_kafka_; }
  /// The poll thread and the ingesters. Any thread.
  std::vector<base::Loop> loops() const;
  /// The client for queries; null before start. Held, because it may be replaced. Any thread.
  std::shared_ptr<rd_kafka_t> query_client() const;
  /// A client has failed for good: the process has to restart.
  bool failed() const { return failed_ || poller_.failed(); }
  /// How often the clients were replaced because they were stuck.
  std::uint64_t remade() const { return remade_; }

 private:
  std::optional<base::Problem> make_query_client();
  std::optional<base::Problem> start_clients();
  void watch();
  bool can_make_client() const;
  void remake();
  /// Only the watching thread, and later the thread that ends it, makes and destroys them: it may use them without
  /// lock.
  std::vector<Ingester*> ingesters() const;
  std::shared_ptr<rd_kafka_t> take_ingest();

  const config::Settings& settings_;
  const base::Uuid owner_;
  inbox::Registrations& registrations_;
  HandOff& hand_off_;
  inbox::Watchdog& watchdog_;
  base::Logger& log_;
  trace::Tracer* const tracer_;
  const bool reads_kafka_;  ///< a reload changes the local topics in the settings
  config::Topics topics_;
  formats::Decoders decoders_{formats::Decoders::ingest_patience};
  IngestCounts counts_;
  PartitionStatus status_;
  LocalSource local_;
  Poller poller_;
  std::unique_ptr<IngestRight> right_;  ///< null: the group says what to read
  kafka::Client client_;
  std::chrono::seconds unjoined_limit_{};
  MemberWatch member_watch_;
  base::StopSignal stop_;
  std::atomic<bool> failed_{false};
  std::atomic<std::uint64_t> remade_{0};
  mutable base::Mutex mutex_;
  std::shared_ptr<rd_kafka_t> query_client_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Ingester>> ingesters_ GUARDED_BY(mutex_);
  std::thread watch_thread_;
};

}  // namespace inboxd::consumer
