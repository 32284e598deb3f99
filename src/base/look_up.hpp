#pragma once
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace inboxd::base {

struct Address {
  int family = 0;
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

/// Where a TCP port of a host is, by its name or its address; at least one, or a problem. The system's own looking up
/// may take a minute and cannot be ended: what is not answered by `end` goes on in a thread that is left behind, and is
/// forgotten. Any thread.
Result<std::vector<Address>> look_up(const std::string& host, const std::string& port,
                                     std::chrono::steady_clock::time_point end);

}  // namespace inboxd::base
