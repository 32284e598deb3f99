#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

namespace inboxd::inbox {

/// Connections that share a watchdog, since the start. Any thread calls anything.
class ConnectionCounts final {
 public:
  /// `owner` has made a connection by this socket, which it forgets before it closes it.
  void add(const void* owner, int socket);
  void forget(const void* owner);
  /// How many there are whose server has not hung up. Who waits for work does not hear that his has.
  std::int64_t open() const;

  std::atomic<std::uint64_t> opened{0}, refused{0};

 private:
  mutable std::mutex mutex_;
  std::map<const void*, int> sockets_;
};

}  // namespace inboxd::inbox
