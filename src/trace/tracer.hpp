#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "trace/span.hpp"

namespace inboxd::trace {

/// Since the start. Any thread reads.
struct Counts {
  std::atomic<std::uint64_t> exported{0};
  std::atomic<std::uint64_t> dropped{0};  ///< the queue was full: the collector is away or slow
  std::atomic<std::uint64_t> refused{0};  ///< rejected by the collector
};

/// Takes spans from any thread without waiting, and sends them to the collector from a thread of its own. Spans that do
/// not fit the queue (`tracing.queue`) are dropped and counted. The log shows host and port of the endpoint only: a
/// path may hold a key. Construct → start() → request_stop() → join(); outlives all senders.
class Tracer final {
 public:
  struct Pace {
    std::size_t load = 512;                     ///< spans in a request, at most
    std::chrono::milliseconds gather{1'000};    ///< time to collect spans for a request
    std::chrono::milliseconds timeout{3'000};   ///< of a request
    std::chrono::milliseconds initial_wait{500};  ///< after a failure; doubles up to `max_wait`
    std::chrono::milliseconds max_wait{30'000};
  };

  Tracer(const config::Tracing& settings, const base::Uuid& instance, base::Logger& log)
      : Tracer{settings, instance, log, Pace{}} {}
  Tracer(const config::Tracing& settings, const base::Uuid& instance, base::Logger& log, Pace pace);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  const config::Tracing& settings() const { return settings_; }
  void start();
  /// The daemon stops: no further request lasts beyond `end`.
  void end_by(std::chrono::steady_clock::time_point end);
  /// Queued spans are still offered once, within the time limit of a single request.
  void request_stop();
  void join();

  /// Reserves room for spans: returns how many fit. The others count as dropped and need not be made.
  std::size_t room(std::size_t wanted);
  /// Counts spans that were not made because another queue was full.
  void count_dropped(std::size_t spans) { counts_.dropped += spans; }
  void add(std::vector<Span> spans);
  const Counts& counts() const { return counts_; }

 private:
  enum class How { taken, later, never };
  struct Sent {
    How how = How::later;
    std::size_t refused = 0;  ///< by the collector
  };

  void run();
  std::vector<Span> next_load();
  /// False: stopped.
  bool wait(std::chrono::milliseconds time);
  void send_until_taken(const std::vector<Span>& load);
  Sent send(const std::vector<Span>& load);
  std::chrono::steady_clock::time_point end_of_request();
  void note(const Sent& sent, const std::string& problem);
  std::size_t free_places() const REQUIRES(mutex_);

  const config::Tracing settings_;
  const Resource resource_;
  const Pace pace_;
  base::Logger& log_;
  std::string place_;  ///< HOST:PORT, for the log
  std::string url_;
  Counts counts_;
  bool is_failing_ = false;  ///< the thread's own

  base::Mutex mutex_;
  base::Condition changed_;
  std::deque<Span> queue_ GUARDED_BY(mutex_);
  bool stopping_ GUARDED_BY(mutex_) = false;
  /// Of the last request.
  std::chrono::steady_clock::time_point end_ GUARDED_BY(mutex_) = std::chrono::steady_clock::time_point::max();
  std::thread thread_;
};

}  // namespace inboxd::trace
