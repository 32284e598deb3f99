#include "base/this_machine.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <catch2/catch_test_macros.hpp>
#include <string_view>

using inboxd::base::is_of_this_machine;

TEST_CASE("loopback and interface addresses belong to this machine, others do not") {
  const auto is_ours = [](const char* text) {
    sockaddr_in6 six{};
    sockaddr_in four{};
    six.sin6_family = AF_INET6;
    four.sin_family = AF_INET;
    if (std::string_view{text}.find(':') == std::string_view::npos) {
      REQUIRE(inet_pton(AF_INET, text, &four.sin_addr) == 1);
      return is_of_this_machine(reinterpret_cast<const sockaddr&>(four));
    }
    REQUIRE(inet_pton(AF_INET6, text, &six.sin6_addr) == 1);
    return is_of_this_machine(reinterpret_cast<const sockaddr&>(six));
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
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET) CHECK(is_of_this_machine(*one->ifa_addr));
  }
  freeifaddrs(found);
}

TEST_CASE("the text of an address names this machine only if no look-up is needed") {
  using inboxd::base::host_of;
  using inboxd::base::is_on_this_machine;
  for (const char* const own : {"localhost:9092", "127.0.0.6:1", "[::1]:9470", "SASL_SSL://127.0.0.1:9093", "/run/x"}) {
    CHECK(is_on_this_machine(host_of(own)));
  }
  for (const char* const other : {"127.evil.example:9092", "kafka:9092", "0.0.0.0:9470", "[::]:9470", "127.1:1"}) {
    CHECK_FALSE(is_on_this_machine(host_of(other)));
  }
}
