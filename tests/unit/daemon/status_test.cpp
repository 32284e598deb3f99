#include "daemon/status.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::daemon;
using std::chrono::seconds;

TEST_CASE("a handler that is stopped says how many calls never returned, and what to do") {
  CHECK(stopped_text("mail", 3) == "handler mail is stopped: 3 calls never returned; restart after mending it");
}

TEST_CASE("the status says rates and lag, and what needs somebody") {
  StatusFigures before;
  before.reading = before.assigned = 12;
  CHECK(status_text(before, before, seconds{2}) == "reads 12 of 12 partitions, lag 0; 0 stored/s, 0 done/s");
  StatusFigures now = before;
  now.lag = 340;
  now.stored = 1'040;
  now.done = 996;
  now.retried = 3;
  CHECK(status_text(before, now, seconds{2}) ==
        "reads 12 of 12 partitions, lag 340; 520 stored/s, 498 done/s, 1.5 retried/s");
  now.reading = 11;
  now.halted = 1;
  now.dead = 7;
  now.is_paused = true;
  CHECK(status_text(now, now, seconds{2}) ==
        "handlers paused; reads 11 of 12 partitions, 1 HALTED, lag 340; 0 stored/s, 0 done/s; 7 dead since the start");
}
