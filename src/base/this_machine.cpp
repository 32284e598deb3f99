#include "base/this_machine.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <memory>
#include <string>

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

std::string_view host_of(std::string_view address) {
  if (const auto scheme = address.find("://"); scheme != std::string_view::npos) address.remove_prefix(scheme + 3);
  if (address.starts_with('[')) return address.substr(1, address.find(']') - 1);
  return address.substr(0, address.find(':'));
}

bool is_on_this_machine(std::string_view host) {
  in_addr address{};
  const bool is_number = host.starts_with("127.") && ::inet_pton(AF_INET, std::string{host}.c_str(), &address) == 1;
  return host.empty() || host.starts_with('/') || is_number || host == "localhost" || host == "::1";
}

}  // namespace inboxd::base
