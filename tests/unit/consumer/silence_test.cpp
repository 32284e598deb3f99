#include "consumer/silence.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using inboxd::consumer::Silence;

namespace {

const Silence::Clock::time_point start{1h};

}  // namespace

TEST_CASE("a partition of which something came is never silent, one that was not looked up neither") {
  Silence silence;
  CHECK_FALSE(silence.is_too_long(start, 0, 0));
  silence.looked_up(start);
  CHECK_FALSE(silence.is_too_long(start + 9s, 0, 0));
  silence.heard();
  CHECK_FALSE(silence.is_too_long(start + 1h, 0, 0));
}

TEST_CASE("a partition of which nothing comes is looked up again, and waited for twice as long each time") {
  Silence silence;
  auto now = start;
  for (const auto waited : {10s, 20s, 40s}) {
    silence.looked_up(now);
    CHECK_FALSE(silence.is_too_long(now + waited - 1s, 0, 0));
    CHECK(silence.is_too_long(now + waited, 0, 0));
    now += waited;
  }
  for (int i = 0; i < 20; ++i) silence.is_too_long(now += 24h, 0, 0);
  silence.looked_up(now);
  CHECK(silence.is_too_long(now + 1h, 0, 0));
  silence.looked_up(now);
  silence.heard();
  CHECK_FALSE(silence.is_too_long(now, 0, 0));
  silence.looked_up(now);
  CHECK(silence.is_too_long(now + 10s, 0, 0));  // and from the beginning
}

TEST_CASE("what waits in the queue is taken before anything is called silent") {
  Silence silence;
  silence.looked_up(start);
  CHECK_FALSE(silence.is_too_long(start + 10s, 100, 50));
  CHECK_FALSE(silence.is_too_long(start + 11s, 149, 700));  // it fills again meanwhile
  CHECK(silence.is_too_long(start + 12s, 150, 650));
  silence.looked_up(start);
  CHECK_FALSE(silence.is_too_long(start + 20s, 200, 9));
  CHECK(silence.is_too_long(start + 21s, 200, 0));  // what the library keeps to itself is in its queue, too
}
