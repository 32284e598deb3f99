#include <catch2/catch_test_macros.hpp>

#include "workers/transaction_retry.hpp"

namespace inboxd::dispatcher {

using namespace std::chrono_literals;
using Level = GroupLimiter::Level;

namespace {

constexpr GroupLimiter::Limits limits{.first_hold = 5s, .longest_hold = 20s, .forgiven = 60s, .quiet = 100s};

Level level_at(GroupLimiter& limiter, GroupLimiter::Clock::time_point now) { return limiter.begin(now).level(); }

}  // namespace

TEST_CASE("after a collision one transaction at a time holds several calls, and later all may again") {
  const auto start = GroupLimiter::Clock::now();
  GroupLimiter limiter{limits};
  {
    const auto first = limiter.begin(start), second = limiter.begin(start);
    CHECK((first.may_add_call() && second.may_add_call()));
    limiter.collided(first.level(), start);
    CHECK_FALSE((first.may_add_call() || second.may_add_call()));
  }
  {
    const auto first = limiter.begin(start), second = limiter.begin(start + 4s);
    CHECK(first.may_add_call());
    CHECK_FALSE(second.may_group());
  }
  CHECK(limiter.begin(start + 4s).may_group());  // the first one has ended
  CHECK(level_at(limiter, start + 5s) == Level::all);
}

TEST_CASE("a second collision leaves no transaction with several calls until the hold is over") {
  const auto start = GroupLimiter::Clock::now();
  GroupLimiter limiter{limits};
  limiter.collided(Level::all, start);
  limiter.collided(Level::one, start + 1s);
  CHECK_FALSE(limiter.begin(start + 10s).may_group());
  CHECK(level_at(limiter, start + 11s) == Level::one);  // twice the first hold
  CHECK(level_at(limiter, start + 20s) == Level::one);
  CHECK(level_at(limiter, start + 21s) == Level::all);
}

TEST_CASE("a collision soon after the last one doubles the hold, up to a limit") {
  auto now = GroupLimiter::Clock::now();
  GroupLimiter limiter{limits};
  for (const auto hold : {5s, 10s, 20s, 20s}) {
    limiter.collided(Level::all, now);
    CHECK(level_at(limiter, now + hold - 1s) == Level::one);
    CHECK(level_at(limiter, now + hold) == Level::all);
    now += hold;
  }
  now += 60s;
  limiter.collided(Level::all, now);
  CHECK(level_at(limiter, now + 5s) == Level::all);
}

TEST_CASE("a lock wait lowers the level once and for the first hold only, however often it happens") {
  auto now = GroupLimiter::Clock::now();
  GroupLimiter limiter{limits};
  for (int i = 0; i < 5; ++i) {
    limiter.waited(now);
    limiter.waited(now + 1s);
    CHECK(level_at(limiter, now + 4s) == Level::one);
    CHECK(level_at(limiter, now + 5s) == Level::all);
    now += 5s;
  }
  limiter.collided(Level::all, now);  // lock waits before it do not double the hold
  CHECK(level_at(limiter, now + 4s) == Level::one);
  CHECK(level_at(limiter, now + 5s) == Level::all);
}

TEST_CASE("simultaneous collisions count as one, and warnings are rare") {
  const auto start = GroupLimiter::Clock::now();
  GroupLimiter limiter{limits};
  CHECK(limiter.collided(Level::all, start));
  CHECK_FALSE(limiter.collided(Level::all, start));
  CHECK(level_at(limiter, start) == Level::one);
  CHECK_FALSE(limiter.collided(std::nullopt, start + 99s));
  CHECK(limiter.collided(std::nullopt, start + 100s));
  CHECK(level_at(limiter, start + 100s) == Level::all);
}

}  // namespace inboxd::dispatcher
