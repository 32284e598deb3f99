#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>

#include "base/mutex.hpp"
#include "inbox/known_server.hpp"

namespace inboxd::inbox {

/// The connections that share a watchdog. Any thread.
class ConnectionCounts final {
 public:
  /// `owner` opened a connection on this socket. It calls `remove` before it closes the socket.
  void add(const void* owner, int socket);
  void remove(const void* owner);
  /// Open connections whose server has not hung up. An idle client does not notice that itself.
  std::int64_t open() const;

  std::atomic<std::uint64_t> opened{0}, refused{0};  ///< since the start

 private:
  mutable base::Mutex mutex_;
  std::map<const void*, int> sockets_ GUARDED_BY(mutex_);
};

/// Shuts down the sockets of statements that exceed their deadline, because libpq blocks. A single watchdog serves all
/// connections. Its thread lives from construction to destruction; the functions may be called from any thread.
class Watchdog final {
 public:
  Watchdog();
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Watches a socket until `unwatch`. The socket must stay open until then.
  std::uint64_t watch(int socket, std::chrono::steady_clock::time_point deadline);
  /// Ends a watch. Returns whether the watchdog shut the socket down.
  bool unwatch(std::uint64_t id);
  /// Limits every statement to `longest` from the time `from` on, running statements included.
  void limit_all(std::chrono::steady_clock::time_point from, std::chrono::milliseconds longest);
  /// Ends every statement at that time, and every later statement at once.
  void cut_all(std::chrono::steady_clock::time_point from);
  /// Whether an operation that began at that time must end: for operations without a statement, such as connecting.
  bool must_end(std::chrono::steady_clock::time_point began) const;
  /// When its thread last ran: at most about a second ago.
  std::chrono::steady_clock::time_point last_check() const { return last_check_; }
  ConnectionCounts& counts() { return counts_; }
  const ConnectionCounts& counts() const { return counts_; }
  KnownServer& server() { return server_; }

 private:
  struct Watch {
    int socket;
    std::chrono::steady_clock::time_point began;
    std::chrono::steady_clock::time_point deadline;
    bool fired;
  };
  void run();
  void check() REQUIRES(mutex_);
  bool must_end(std::chrono::steady_clock::time_point began, std::chrono::steady_clock::time_point now) const
      REQUIRES(mutex_);

  ConnectionCounts counts_;
  KnownServer server_;
  std::atomic<std::chrono::steady_clock::time_point> last_check_ = std::chrono::steady_clock::now();
  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::uint64_t, Watch> watches_ GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point next_check_ GUARDED_BY(mutex_){};
  std::uint64_t next_id_ GUARDED_BY(mutex_) = 1;
  std::chrono::steady_clock::time_point limit_from_ GUARDED_BY(mutex_) = std::chrono::steady_clock::time_point::max();
  std::chrono::steady_clock::time_point cut_from_ GUARDED_BY(mutex_) = std::chrono::steady_clock::time_point::max();
  std::chrono::milliseconds longest_ GUARDED_BY(mutex_){0};
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace inboxd::inbox
