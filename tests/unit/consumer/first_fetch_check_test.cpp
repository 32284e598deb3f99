#include <catch2/catch_test_macros.hpp>

#include "consumer/shard.hpp"

using inboxd::consumer::FirstFetchCheck;

TEST_CASE("the first record is accepted at its position, and after it only the second time") {
  FirstFetchCheck check;
  check.restart();
  CHECK_FALSE(check.accepts(0, 1));  // record 0 may have been fetched earlier and dropped
  check.restart();
  CHECK(check.accepts(0, 0));
  CHECK(check.accepts(1, 7));  // later gaps belong to the log
  check.restart();
  CHECK_FALSE(check.accepts(8, 9));
  check.restart();
  CHECK(check.accepts(8, 9));  // a transaction marker, or compacted
}

TEST_CASE("each position is checked once, however often it is looked up") {
  FirstFetchCheck check;
  for (int i = 0; i < 3; ++i) {
    check.restart();
    CHECK(check.accepts(5, 9) == (i > 0));
  }
  check.restart();
  CHECK_FALSE(check.accepts(6, 9));
  check.restart();
  CHECK(check.accepts(6, 6));
}
