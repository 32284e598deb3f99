#pragma once
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/look_up.hpp"
#include "base/socket.hpp"

namespace inboxd::base {

/// A request and its answer over a single connection. A single deadline covers every wait, name resolution included. A
/// function that returns false has set `problem()`. Not thread-safe.
class Exchange final {
 public:
  using Clock = std::chrono::steady_clock;
  /// `largest` is the most bytes that are received.
  explicit Exchange(Clock::time_point end, std::size_t largest = 64 << 20) : end_{end}, largest_{largest} {}

  bool connect_to_port(const std::string& host, const std::string& port);
  /// Tries the addresses in order, until a connection is made.
  bool connect_to(const std::vector<Address>& addresses);
  /// A Unix socket.
  bool connect_to_path(const std::string& path);
  /// `more_follows`: the kernel may wait for the next bytes.
  bool send(std::string_view bytes, bool more_follows = false);
  /// Reads until the peer closes the connection or `is_whole` returns true.
  bool receive(std::string& out, bool (*is_whole)(std::string_view) = nullptr);

  const std::string& problem() const { return problem_; }

 private:
  bool connect(int family, const sockaddr* address, socklen_t length);
  bool wait(short events);
  bool fail(int error);

  const Clock::time_point end_;
  const std::size_t largest_;
  Socket socket_;
  std::string problem_;
};

/// `[::1]:9470` as host and port.
std::pair<std::string, std::string> split_address(const std::string& host_and_port);

}  // namespace inboxd::base
