#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/heartbeat.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "consumer/hand_off.hpp"
#include "consumer/ingester.hpp"
#include "consumer/partition_status.hpp"
#include "consumer/poller.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::consumer {

/// From Kafka into the inbox: the poll thread and the ingesters. Construct → start() → request_stop() → join();
/// stopping twice is allowed. All arguments outlive it.
class Consumer final {
 public:
  Consumer(const config::Settings& settings, const base::Uuid& owner, inbox::Registrations& registrations,
           HandOff& hand_off, inbox::Watchdog& watchdog, base::Logger& log, trace::Tracer* tracer = nullptr);
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  /// Makes the Kafka clients and starts the threads. The problem is a property that the client library refuses.
  std::optional<base::Problem> start();
  void request_stop();
  /// Waits until nothing more is stored or handed over; the poll thread leaves the group meanwhile.
  void finish_intake();
  void join();

  const IngestCounts& counts() const { return counts_; }
  inbox::Unsubscribed& unsubscribed() { return counts_.unsubscribed; }
  const Poller& poller() const { return poller_; }
  const PartitionStatus& status() const { return status_; }
  /// The poll thread and the ingesters.
  std::vector<base::Loop> loops() const;
  /// The client for queries; null before start.
  rd_kafka_t* query_client() const { return query_client_.get(); }

 private:
  std::optional<base::Problem> make_query_client();

  const config::Settings& settings_;
  const base::Uuid owner_;
  inbox::Registrations& registrations_;
  HandOff& hand_off_;
  inbox::Watchdog& watchdog_;
  base::Logger& log_;
  trace::Tracer* const tracer_;
  config::Topics topics_;
  IngestCounts counts_;
  PartitionStatus status_;
  Poller poller_;
  kafka::Client client_;
  kafka::Client query_client_;
  std::vector<std::unique_ptr<Ingester>> ingesters_;
};

}  // namespace inboxd::consumer
