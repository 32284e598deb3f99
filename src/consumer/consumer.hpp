#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/log.hpp"
#include "base/loop.hpp"
#include "base/result.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "consumer/board.hpp"
#include "consumer/hand_off.hpp"
#include "consumer/ingester.hpp"
#include "consumer/poller.hpp"
#include "consumer/topics.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::consumer {

/// From Kafka into the inbox: the poll thread and the ingesters. Construct → start() → request_stop() → join();
/// stopping twice is fine. Everything passed in outlives it.
class Consumer final {
 public:
  Consumer(const config::Settings& settings, const base::Uuid& owner, inbox::Registrations& registrations,
           HandOff& hand_off, inbox::Watchdog& watchdog, base::Logger& log, trace::Tracer* tracer = nullptr);
  ~Consumer();
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  /// Makes the Kafka clients and starts reading. The problem is a property that they refuse.
  std::optional<base::Problem> start();
  void request_stop();
  /// Waits until nothing more is stored or handed over; the group is left meanwhile.
  void finish_intake();
  void join();

  const IngestCounts& counts() const { return counts_; }
  const Poller& poller() const { return poller_; }
  const Board& board() const { return board_; }
  /// The poll thread and the ingesters.
  std::vector<base::Loop> loops() const;
  /// A client for questions to the brokers; null before start.
  rd_kafka_t* asker() const { return asker_.get(); }

 private:
  std::optional<base::Problem> make_asker();

  const config::Settings& settings_;
  const base::Uuid owner_;
  inbox::Registrations& registrations_;
  HandOff& hand_off_;
  inbox::Watchdog& watchdog_;
  base::Logger& log_;
  trace::Tracer* const tracer_;
  Topics topics_;
  IngestCounts counts_;
  Board board_;
  Poller poller_;
  kafka::Client client_;
  kafka::Client asker_;
  std::vector<std::unique_ptr<Ingester>> ingesters_;
};

}  // namespace inboxd::consumer
