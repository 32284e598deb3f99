#include "daemon/health_reporter.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::daemon;
using std::chrono::seconds;

TEST_CASE("a stopped handler is reported with the number of calls and the remedy") {
  CHECK(stopped_text("mail", 3) == "handler mail is stopped: 3 calls never returned; fix it and restart");
}

TEST_CASE("the status has rates, lag, and anything that needs an operator") {
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
  now.lag_unknown = 2;
  CHECK(status_text(now, now, seconds{2}) ==
        "reads 12 of 12 partitions, lag 340 and ? of 2 partitions; 0 stored/s, 0 done/s");
  now.lag_unknown = 12;
  CHECK(status_text(now, now, seconds{2}) == "reads 12 of 12 partitions, lag ?; 0 stored/s, 0 done/s");
  now.lag_unknown = 0;
  now.reading = 11;
  now.halted = 1;
  now.dead = 7;
  now.is_paused = true;
  CHECK(status_text(now, now, seconds{2}) ==
        "handlers paused; reads 11 of 12 partitions, 1 HALTED, lag 340; 0 stored/s, 0 done/s; 7 dead since the start");
}
