#include "base/look_up.hpp"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <catch2/catch_test_macros.hpp>
#include <cstring>

using namespace inboxd::base;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE("an address needs no resolution, so it is found even after the deadline") {
  const auto four = look_up("127.0.0.1", "4318", Clock::now() - 1s);
  REQUIRE(four);
  REQUIRE(four.value().size() == 1);
  const Address& address = four.value().front();
  CHECK(address.family == AF_INET);
  CHECK(reinterpret_cast<const sockaddr_in&>(address.bytes).sin_port == htons(4318));
  const auto six = look_up("::1", "4318", Clock::now() - 1s);
  REQUIRE(six);
  CHECK(six.value().front().family == AF_INET6);
}

TEST_CASE("a name is resolved, an unknown name is a problem, and the deadline holds") {
  CHECK(look_up("localhost", "4318", Clock::now() + 30s));
  CHECK_FALSE(look_up("no such name", "4318", Clock::now() + 30s));
  const auto began = Clock::now();
  const auto late = look_up("no.such.name.invalid", "4318", began + 1ms);
  CHECK_FALSE(late);
  CHECK(Clock::now() - began < 2s);
}

TEST_CASE("loopback and interface addresses belong to this machine, others do not") {
  const auto is_ours = [](const char* address) {
    const auto found = look_up(address, "1", Clock::now());
    REQUIRE(found);
    return is_of_this_machine(found.value().front());
  };
  CHECK(is_ours("127.0.0.1"));
  CHECK(is_ours("127.0.0.6"));
  CHECK(is_ours("::1"));
  CHECK_FALSE(is_ours("192.0.2.1"));
  CHECK_FALSE(is_ours("2001:db8::1"));
  CHECK_FALSE(is_ours("0.0.0.1"));
  ifaddrs* found = nullptr;
  REQUIRE(getifaddrs(&found) == 0);
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    Address address;
    address.family = AF_INET;
    address.length = sizeof(sockaddr_in);
    std::memcpy(&address.bytes, one->ifa_addr, address.length);
    CHECK(is_of_this_machine(address));
  }
  freeifaddrs(found);
}
