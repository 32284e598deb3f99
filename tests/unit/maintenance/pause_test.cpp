#include <catch2/catch_test_macros.hpp>

#include "maintenance/maintenance.hpp"

using namespace std::chrono_literals;
using inboxd::maintenance::next_blocks;
using inboxd::maintenance::pause_after_count;

TEST_CASE("counting takes a fiftieth of the time at most, and comes every two minutes however long it takes") {
  CHECK(pause_after_count(0s) == 5s);
  CHECK(pause_after_count(10ms) == 5s);
  CHECK(pause_after_count(200ms) == 10s);
  CHECK(pause_after_count(2s) == 100s);
  CHECK(pause_after_count(29s) == 120s);
}

TEST_CASE("a bite of the ledger that took long is followed by a smaller one, a quick one by a larger one") {
  CHECK(next_blocks(512, 50ms) == 512);
  CHECK(next_blocks(512, 500ms) == 512);
  CHECK(next_blocks(512, 2s) == 256);
  CHECK(next_blocks(1, 29s) == 1);
  CHECK(next_blocks(1, 10ms) == 2);
  CHECK(next_blocks(300, 10ms) == 512);
}
