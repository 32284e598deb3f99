#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/repeats.hpp"
#include "base/uuid.hpp"
#include "base/wake_signal.hpp"
#include "config/settings.hpp"
#include "consumer/batch_writer.hpp"
#include "consumer/local_reader.hpp"
#include "consumer/partition_status.hpp"
#include "inbox/connection.hpp"
#include "inbox/watchdog.hpp"
#include "trace/tracer.hpp"

namespace inboxd::consumer {

/// Enqueued events into the inbox, in a single instance at a time: takes the lease, reads under it, and begins again
/// after a failure. It has its own thread and connection. Construct → start() → request_stop() → join().
class LocalSource final {
 public:
  using Clock = std::chrono::steady_clock;

  LocalSource(const config::Settings& settings, const base::Uuid& owner, inbox::Registrations& registrations,
              HandOff& hand_off, IngestCounts& counts, PartitionStatus& status, inbox::Watchdog& watchdog,
              base::Logger& log, trace::Tracer* tracer);
  ~LocalSource();
  LocalSource(const LocalSource&) = delete;
  LocalSource& operator=(const LocalSource&) = delete;

  void start();
  /// The current batch is finished, or dropped if the database is away.
  void request_stop();
  void join();

  bool is_running() const { return is_running_; }
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  void run();
  /// Takes the lease and reads until that ends. Returns the wait before the next try.
  std::chrono::milliseconds serve();
  std::chrono::milliseconds serve_under(const inbox::LocalLease& lease, LocalReader& reader,
                                        Clock::time_point taken_at);
  void forget_all();
  void wait(Clock::time_point until);

  const config::Settings& settings_;
  const base::Uuid owner_;
  HandOff& hand_off_;
  PartitionStatus& status_;
  base::Logger& log_;
  trace::Tracer* const tracer_;
  base::Heartbeat heartbeat_;
  base::WakeSignal wake_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> is_running_{false};

  // Used by the thread alone.
  inbox::Connection connection_;
  BatchWriter writer_;
  std::map<std::int32_t, kafka::TopicPartition> assigned_;  ///< the topics by shard, as told to the dispatcher
  base::Repeats repeats_;
  std::chrono::milliseconds backoff_{0};
  std::thread thread_;
};

}  // namespace inboxd::consumer
