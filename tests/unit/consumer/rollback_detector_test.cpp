#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "consumer/routing.hpp"

using namespace std::chrono_literals;
using inboxd::consumer::RollbackDetector;
using Finding = RollbackDetector::Finding;

namespace {

const RollbackDetector::Clock::time_point start{1h};

}  // namespace

TEST_CASE("a database with all known registrations accepts batches") {
  RollbackDetector detector{30s};
  CHECK(detector.judge({true, true}, start) == Finding::known);
}

TEST_CASE("a database that lost registrations of this process accepts none, for any time") {
  RollbackDetector detector{30s};
  const bool others = GENERATE(true, false);
  for (auto now = start; now < start + 10min; now += 1s) {
    REQUIRE(detector.judge({false, others}, now) == Finding::behind);
  }
  CHECK(detector.judge({true, true}, start + 10min) == Finding::known);
}

TEST_CASE("a database that lost registrations of others accepts none for half a minute") {
  RollbackDetector detector{30s};
  CHECK(detector.judge({true, false}, start) == Finding::behind);
  CHECK(detector.judge({true, false}, start + 29'999ms) == Finding::behind);
  SECTION("until they restore them") { CHECK(detector.judge({true, true}, start + 29'999ms) == Finding::known); }
  SECTION("and then it does") { CHECK(detector.judge({true, false}, start + 30s) == Finding::not_restored); }
  SECTION("counted from the restore of ours") {
    CHECK(detector.judge({false, false}, start + 40s) == Finding::behind);
    CHECK(detector.judge({true, false}, start + 69s) == Finding::behind);  // others may be as late as this process
    CHECK(detector.judge({true, false}, start + 70s) == Finding::not_restored);
  }
  SECTION("counted from the start each time") {
    CHECK(detector.judge({true, true}, start + 5s) == Finding::known);
    CHECK(detector.judge({true, false}, start + 35s) == Finding::behind);
    CHECK(detector.judge({true, false}, start + 64s) == Finding::behind);
    CHECK(detector.judge({true, false}, start + 65s) == Finding::not_restored);
  }
  SECTION("counted from the start after an abandoned batch") {
    CHECK(detector.judge({true, false}, start + 2h) == Finding::behind);
    CHECK(detector.judge({true, false}, start + 2h + 29s) == Finding::behind);
  }
}

TEST_CASE("others have as long as two of their statements may take, but five minutes at most") {
  CHECK(inboxd::consumer::wait_for_others(5s) == 30s);
  CHECK(inboxd::consumer::wait_for_others(40s) == 80s);
  CHECK(inboxd::consumer::wait_for_others(1h) == 5min);
}
