#include "base/look_up.hpp"

#include <netinet/in.h>

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::base;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE("an address is found without asking anybody, so also where there is no time left") {
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

TEST_CASE("a name is looked up, an unknown one is a problem, and none is waited for longer than was said") {
  CHECK(look_up("localhost", "4318", Clock::now() + 30s));
  CHECK_FALSE(look_up("no such name", "4318", Clock::now() + 30s));
  const auto began = Clock::now();
  const auto late = look_up("name.of.nobody.invalid", "4318", began + 1ms);
  CHECK_FALSE(late);
  CHECK(Clock::now() - began < 2s);
}
