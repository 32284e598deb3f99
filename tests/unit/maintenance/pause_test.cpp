#include <catch2/catch_test_macros.hpp>

#include "maintenance/maintenance.hpp"

using namespace std::chrono_literals;
using inboxd::maintenance::pause_after_count;

TEST_CASE("counting takes a fiftieth of the time at most, and comes every two minutes however long it takes") {
  CHECK(pause_after_count(0s) == 5s);
  CHECK(pause_after_count(10ms) == 5s);
  CHECK(pause_after_count(200ms) == 10s);
  CHECK(pause_after_count(2s) == 100s);
  CHECK(pause_after_count(29s) == 120s);
}
