#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <thread>

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
  /// Shuts down every socket that is watched, and from now on every one as soon as it is.
  void cut_all();

 private:
  struct Watch {
    int socket;
    std::chrono::steady_clock::time_point deadline;
    bool fired;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Watch> watches_;
  std::uint64_t next_id_ = 1;
  bool cutting_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace inboxd::inbox
