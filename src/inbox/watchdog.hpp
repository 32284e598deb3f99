#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

#include "inbox/connection_counts.hpp"

namespace inboxd::inbox {

/// Shuts sockets down whose statement takes longer than its deadline, because libpq blocks. One for all connections;
/// its thread lives from construction to destruction.
class Watchdog final {
 public:
  Watchdog();
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Watches a socket until `forget`. The socket must not be closed before.
  std::uint64_t watch(int socket, std::chrono::steady_clock::time_point deadline);
  /// Ends a watch; true where the socket was shut down because of it.
  bool forget(std::uint64_t id);
  /// From that moment on nothing takes longer than `longest`, what already runs included.
  void hurry(std::chrono::steady_clock::time_point from, std::chrono::milliseconds longest);
  /// From that moment on nothing goes on at all, and nothing new begins.
  void cut_all(std::chrono::steady_clock::time_point from);
  /// Whether what began then has to end: for what is no statement (making a connection).
  bool is_over(std::chrono::steady_clock::time_point began) const;
  /// When its thread last moved, at least once in a second. Any thread.
  std::chrono::steady_clock::time_point last_look() const { return last_look_; }
  ConnectionCounts& counts() { return counts_; }
  const ConnectionCounts& counts() const { return counts_; }

 private:
  struct Watch {
    int socket;
    std::chrono::steady_clock::time_point began;
    std::chrono::steady_clock::time_point deadline;
    bool fired;
  };
  void run();
  void look();
  bool is_over(std::chrono::steady_clock::time_point began, std::chrono::steady_clock::time_point now) const;

  ConnectionCounts counts_;
  std::atomic<std::chrono::steady_clock::time_point> last_look_ = std::chrono::steady_clock::now();
  mutable std::mutex mutex_;  // guards the following
  std::condition_variable changed_;
  std::map<std::uint64_t, Watch> watches_;
  std::chrono::steady_clock::time_point next_look_{};
  std::uint64_t next_id_ = 1;
  std::chrono::steady_clock::time_point hurry_from_ = std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point cut_from_ = std::chrono::steady_clock::time_point::max();
  std::chrono::milliseconds longest_{0};
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace inboxd::inbox
