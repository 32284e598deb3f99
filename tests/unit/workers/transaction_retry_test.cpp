#include "workers/transaction_retry.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

/// The number of failures until an event is charged; 0: never.
int until_charged(RetryReason reason) {
  TransactionRetry retry;
  for (int n = 1; n <= 1'000; ++n) {
    if (retry.note(reason)) return n;
  }
  return 0;
}

}  // namespace

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
    CHECK(retry.wait() == milliseconds{wait});
    CHECK(retry.log_level() == base::LogLevel::warn);
  }
}

TEST_CASE("after contention a transaction runs again at once, logged at debug") {
  TransactionRetry retry;
  retry.note(RetryReason::contention);
  CHECK(retry.wait() == milliseconds{5});
  CHECK(retry.log_level() == base::LogLevel::debug);
  retry.note(RetryReason::contention);
  CHECK(retry.wait() == milliseconds{10});
  CHECK(retry.log_level() == std::nullopt);
}

}  // namespace inboxd::dispatcher
