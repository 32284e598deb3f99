#include "base/look_up.hpp"

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::base {
namespace {

using Found = Result<std::vector<Address>>;

Found ask_system(const std::string& host, const std::string& port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return Problem{::gai_strerror(error)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned{found, ::freeaddrinfo};
  std::vector<Address> out;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Address& address = out.emplace_back();
    address.family = one->ai_family;
    address.length = one->ai_addrlen;
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
  }
  return out;
}

const in_addr& ipv4_of(const void* address) { return static_cast<const sockaddr_in*>(address)->sin_addr; }
const in6_addr& ipv6_of(const void* address) { return static_cast<const sockaddr_in6*>(address)->sin6_addr; }

bool is_loopback(const Address& address) {
  if (address.family == AF_INET) return ntohl(ipv4_of(&address.bytes).s_addr) >> 24 == 127;
  return address.family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ipv6_of(&address.bytes));
}

bool is_same_host(const Address& one, const sockaddr& other) {
  if (one.family != other.sa_family) return false;
  if (one.family == AF_INET) return ipv4_of(&one.bytes).s_addr == ipv4_of(&other).s_addr;
  return one.family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&ipv6_of(&one.bytes), &ipv6_of(&other));
}

/// Shared by the resolving thread and the waiting thread; the last of them frees it.
struct Answer {
  Mutex mutex;
  Condition changed;
  std::optional<Found> found GUARDED_BY(mutex);
};

}  // namespace

Found look_up(const std::string& host, const std::string& port, std::chrono::steady_clock::time_point end) {
  // An address needs no resolution.
  if (auto found = ask_system(host, port, AI_NUMERICHOST)) return found;
  const auto answer = std::make_shared<Answer>();
  try {
    std::thread{[answer, host, port] {
      Found found = ask_system(host, port, 0);
      const Lock lock{answer->mutex};
      answer->found = std::move(found);
      answer->changed.notify_all();
    }}.detach();
  } catch (const std::system_error& error) {
    return Problem{std::string{"no thread to resolve the name: "} + error.what()};
  }
  Lock lock{answer->mutex};
  if (!answer->changed.wait_until(lock, end, [&]() REQUIRES(answer->mutex) { return answer->found.has_value(); })) {
    return Problem{"the name " + host + " was not resolved in time; check the name server"};
  }
  return std::move(*answer->found);
}

bool is_of_this_machine(const Address& address) {
  if (is_loopback(address)) return true;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned{found, ::freeifaddrs};
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr != nullptr && is_same_host(address, *one->ifa_addr)) return true;
  }
  return false;
}

}  // namespace inboxd::base
