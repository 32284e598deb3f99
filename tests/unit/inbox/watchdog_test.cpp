#include "inbox/watchdog.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch_test_macros.hpp>

using inboxd::inbox::ConnectionCounts;

TEST_CASE("an idle connection whose server has hung up does not count as open") {
  ConnectionCounts counts;
  std::array<std::array<int, 2>, 2> pairs{};
  for (auto& pair : pairs) {
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) == 0);
    counts.add(&pair, pair[0]);
  }
  CHECK(counts.open() == 2);
  SECTION("even with unread data") { CHECK(write(pairs[0][1], "FATAL", 5) == 5); }
  close(pairs[0][1]);
  CHECK(counts.open() == 1);
  counts.remove(&pairs[1]);
  CHECK(counts.open() == 0);
  CHECK(counts.opened == 2);
  close(pairs[0][0]);
  for (const int socket : pairs[1]) close(socket);
}
