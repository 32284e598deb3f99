// Repeated transactions, and how many calls share one.
#include "workers/transaction_retry.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using Level = GroupLimiter::Level;

constexpr GroupLimiter::Limits limits{.initial_hold = 5s, .max_hold = 20s, .forgiven = 60s, .quiet = 100s};

Level level_at(GroupLimiter& limiter, GroupLimiter::Clock::time_point now) { return limiter.begin(now).level(); }

/// The number of failures until an event is charged; 0: never.
int until_charged(RetryReason reason) {
  TransactionRetry retry;
  for (int n = 1; n <= 1'000; ++n) {
    if (retry.note(reason)) return n;
  }
  return 0;
}

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

TEST_CASE("failures that a handler may cause are charged after some attempts, others never") {
  CHECK(until_charged(RetryReason::contention) == 31);
  CHECK(until_charged(RetryReason::lost_in_statement) == 3);
  CHECK(until_charged(RetryReason::cut_off) == 10);
  CHECK(until_charged(RetryReason::lost_in_commit) == 5);
  CHECK(until_charged(RetryReason::out_of_memory) == 6);
  CHECK(until_charged(RetryReason::disconnected) == 0);
  CHECK(until_charged(RetryReason::environment) == 0);
}

TEST_CASE("the waits for memory and connections double") {
  const RetryReason reason = GENERATE(RetryReason::out_of_memory, RetryReason::disconnected);
  TransactionRetry retry;
  for (const int wait : {100, 200, 400, 800, 1'600}) {
    CHECK_FALSE(retry.note(reason));
    CHECK(retry.wait() == 1ms * wait);
    CHECK(retry.log_level() == base::LogLevel::warn);
  }
}

TEST_CASE("after contention a transaction runs again at once, logged at debug") {
  TransactionRetry retry;
  retry.note(RetryReason::contention);
  CHECK(retry.wait() == 5ms);
  CHECK(retry.log_level() == base::LogLevel::debug);
  retry.note(RetryReason::contention);
  CHECK(retry.wait() == 10ms);
  CHECK(retry.log_level() == std::nullopt);
}

}  // namespace inboxd::dispatcher
