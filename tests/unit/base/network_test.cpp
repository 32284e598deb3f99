#include "base/network.hpp"

#include <catch2/catch_test_macros.hpp>

using inboxd::base::Network;

TEST_CASE("a network has the addresses with its leading bits, an address only itself") {
  const auto has = [](const char* network, const char* address) {
    return Network::parse(network).value().contains(address);
  };
  CHECK(has("10.0.0.0/8", "10.255.0.1"));
  CHECK_FALSE(has("10.0.0.0/8", "11.0.0.1"));
  CHECK(has("127.0.0.2/31", "127.0.0.3"));
  CHECK_FALSE(has("127.0.0.2/31", "127.0.0.4"));
  CHECK(has("192.0.2.7", "192.0.2.7"));
  CHECK_FALSE(has("192.0.2.7", "192.0.2.8"));
  CHECK(has("0.0.0.0/0", "192.0.2.8"));
  CHECK(has("fd00::/8", "fd12::1"));
  CHECK_FALSE(has("fd00::/8", "fe80::1"));
  CHECK_FALSE(has("0.0.0.0/0", "::1"));
  CHECK_FALSE(has("10.0.0.0/8", "unix socket, uid 0"));
}

TEST_CASE("what is neither an address nor a network is refused") {
  for (const char* const text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "fd00::/129", "a"}) {
    INFO(text);
    CHECK_FALSE(Network::parse(text));
  }
}
