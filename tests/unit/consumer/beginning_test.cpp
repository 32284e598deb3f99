#include "consumer/beginning.hpp"

#include <catch2/catch_test_macros.hpp>

using inboxd::consumer::Beginning;

TEST_CASE("what comes first is believed at its position; behind it only when it is so a second time") {
  Beginning beginning;
  beginning.looked_up();
  CHECK_FALSE(beginning.is_believed(0, 1));  // record 0 was fetched before anybody took it, and dropped
  beginning.looked_up();
  CHECK(beginning.is_believed(0, 0));
  CHECK(beginning.is_believed(1, 7));  // later gaps are the log's
  beginning.looked_up();
  CHECK_FALSE(beginning.is_believed(8, 9));
  beginning.looked_up();
  CHECK(beginning.is_believed(8, 9));  // a mark of a transaction, or compacted
}

TEST_CASE("it is asked once for each position, not for each look") {
  Beginning beginning;
  for (int i = 0; i < 3; ++i) {
    beginning.looked_up();
    CHECK(beginning.is_believed(5, 9) == (i > 0));
  }
  beginning.looked_up();
  CHECK_FALSE(beginning.is_believed(6, 9));
  beginning.looked_up();
  CHECK(beginning.is_believed(6, 6));
}
