#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "base/heartbeat.hpp"
#include "base/logger.hpp"
#include "base/repeats.hpp"
#include "base/stop_signal.hpp"
#include "base/uuid.hpp"
#include "base/wake_signal.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "relay/sender.hpp"

namespace inboxd::relay {

/// Sends the outbox to Kafka, in a single instance at a time: takes the lease, sends under it, and begins again after a
/// failure. It has its own thread and connection. Construct → start() → request_stop() → join().
class Relay final {
 public:
  using Clock = std::chrono::steady_clock;

  Relay(const config::Settings& settings, base::Uuid owner, inbox::Watchdog& watchdog, base::Logger& log);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  void start();
  void request_stop();
  void join();
  /// A transaction of this process has published. Any thread.
  void wake() {
    is_awake_ = true;
    wake_.notify();
  }

  bool is_on() const { return settings_.relay; }
  const Counts& counts() const { return counts_; }
  const base::Heartbeat& heartbeat() const { return heartbeat_; }

 private:
  void run();
  /// Takes the lease and sends until that ends. Returns the wait before the next try.
  std::chrono::milliseconds serve();
  void send_under(Sender& sender);
  void end(const Sender& sender, Sender::State state);
  void wait(std::chrono::milliseconds time);
  std::unique_ptr<kafka::Producer> make_producer(bool one_by_one);

  const config::Outbox settings_;
  const config::Kafka kafka_;
  const base::Uuid owner_;
  base::Logger& log_;
  base::Heartbeat heartbeat_;
  base::WakeSignal wake_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> is_awake_{false};  ///< woken since the last turn
  Counts counts_;

  // Used by the thread alone.
  base::Repeats repeats_;
  base::Repeats stopped_messages_{std::chrono::minutes{1}};
  inbox::Connection connection_;
  Refusals refusals_;
  std::chrono::milliseconds backoff_{0};
  std::thread thread_;
};

}  // namespace inboxd::relay
