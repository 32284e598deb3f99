#include <catch2/catch_test_macros.hpp>

#include "consumer/shard.hpp"

using namespace std::chrono_literals;
using inboxd::consumer::StallDetector;

namespace {

const StallDetector::Clock::time_point start{1h};

}  // namespace

TEST_CASE("a partition that delivered something is not stalled, nor is a partition that was not looked up") {
  StallDetector detector;
  CHECK_FALSE(detector.is_stalled(start, 0, 0));
  detector.restart(start);
  CHECK_FALSE(detector.is_stalled(start + 9s, 0, 0));
  detector.note_message();
  CHECK_FALSE(detector.is_stalled(start + 1h, 0, 0));
}

TEST_CASE("a partition that delivers nothing is looked up again, with twice the patience each time") {
  StallDetector detector;
  auto now = start;
  for (const auto waited : {10s, 20s, 40s}) {
    detector.restart(now);
    CHECK_FALSE(detector.is_stalled(now + waited - 1s, 0, 0));
    CHECK(detector.is_stalled(now + waited, 0, 0));
    now += waited;
  }
  for (int i = 0; i < 20; ++i) detector.is_stalled(now += 24h, 0, 0);
  detector.restart(now);
  CHECK(detector.is_stalled(now + 1h, 0, 0));
  detector.restart(now);
  detector.note_message();
  CHECK_FALSE(detector.is_stalled(now, 0, 0));
  detector.restart(now);
  CHECK(detector.is_stalled(now + 10s, 0, 0));  // the patience starts over
}

TEST_CASE("the waiting queue is worked off before a partition counts as stalled") {
  StallDetector detector;
  detector.restart(start);
  CHECK_FALSE(detector.is_stalled(start + 10s, 100, 50));
  CHECK_FALSE(detector.is_stalled(start + 11s, 149, 700));  // it fills again meanwhile
  CHECK(detector.is_stalled(start + 12s, 150, 650));
  detector.restart(start);
  CHECK_FALSE(detector.is_stalled(start + 20s, 200, 9));
  CHECK(detector.is_stalled(start + 21s, 200, 0));  // the queue's length also counts what the library keeps to itself
}
