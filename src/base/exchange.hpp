#pragma once
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/socket.hpp"

namespace inboxd::base {

/// Bytes there and back over one connection, with one end for every wait, also for that until a name was looked up. One
/// thread. What returns false has a problem to tell.
class Exchange final {
 public:
  using Clock = std::chrono::steady_clock;
  /// `largest` is the most bytes that are received.
  explicit Exchange(Clock::time_point end, std::size_t largest = 64 << 20) : end_{end}, largest_{largest} {}

  bool connect_to_port(const std::string& host, const std::string& port);
  /// A Unix socket.
  bool connect_to_path(const std::string& path);
  /// `more_follows`: it need not go off before that comes.
  bool send(std::string_view bytes, bool more_follows = false);
  /// Everything until the other side ends it, or `is_whole` says that no more is to come.
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
