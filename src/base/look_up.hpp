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

/// Resolves a host name or address and a TCP port. Returns at least one address, or a problem. getaddrinfo may take a
/// minute and cannot be cancelled: past `end` its thread is detached and its result dropped. Any thread.
Result<std::vector<Address>> look_up(const std::string& host, const std::string& port,
                                     std::chrono::steady_clock::time_point end);

/// Whether the address is loopback or belongs to a network interface of this machine. Any thread.
bool is_of_this_machine(const Address& address);

}  // namespace inboxd::base
