#include "maintenance/generations.hpp"
#include "maintenance/maintenance.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using namespace inboxd;
using namespace inboxd::maintenance;

TEST_CASE("counting takes at most a fiftieth of the time, but runs every two minutes") {
  CHECK(pause_after_count(0s) == 5s);
  CHECK(pause_after_count(10ms) == 5s);
  CHECK(pause_after_count(200ms) == 10s);
  CHECK(pause_after_count(2s) == 100s);
  CHECK(pause_after_count(29s) == 120s);
}

TEST_CASE("a slow batch of the ledger is followed by a smaller batch, a quick batch by a larger batch") {
  CHECK(next_blocks(1024, 50ms) == 1024);
  CHECK(next_blocks(512, 500ms) == 512);
  CHECK(next_blocks(512, 2s) == 256);
  CHECK(next_blocks(1, 29s) == 1);
  CHECK(next_blocks(1, 10ms) == 2);
  CHECK(next_blocks(600, 10ms) == 1024);
}

TEST_CASE("a transaction holds back vacuum for as long as the server says, or as long as it was observed") {
  VacuumHoldback holdback;
  const VacuumHoldback::Clock::time_point begin{};
  inbox::OldestTransaction oldest;
  oldest.id = "700";
  CHECK(holdback.age(oldest, begin) == 0s);
  CHECK(holdback.age(oldest, begin + 60s) == 60s);
  oldest.age = 1h;
  CHECK(holdback.age(oldest, begin + 120s) == 1h);
  oldest.age.reset();
  CHECK(holdback.age(oldest, begin + 180s) == 180s);
  oldest.id = "800";  // another transaction, or the same transaction has advanced
  CHECK(holdback.age(oldest, begin + 240s) == 0s);
  CHECK(holdback.age(std::nullopt, begin + 300s) == 0s);
  CHECK(holdback.age(oldest, begin + 360s) == 0s);
}
