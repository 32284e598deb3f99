#include "base/this_machine.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <memory>

namespace inboxd::base {
namespace {

const in_addr& ipv4_of(const sockaddr& address) { return reinterpret_cast<const sockaddr_in&>(address).sin_addr; }
const in6_addr& ipv6_of(const sockaddr& address) { return reinterpret_cast<const sockaddr_in6&>(address).sin6_addr; }

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) return ntohl(ipv4_of(address).s_addr) >> 24 == 127;
  return address.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ipv6_of(address));
}

bool is_same_host(const sockaddr& one, const sockaddr& other) {
  if (one.sa_family != other.sa_family) return false;
  if (one.sa_family == AF_INET) return ipv4_of(one).s_addr == ipv4_of(other).s_addr;
  return one.sa_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&ipv6_of(one), &ipv6_of(other));
}

}  // namespace

bool is_of_this_machine(const sockaddr& address) {
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
