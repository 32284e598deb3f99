#include "consumer/partition_status.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace inboxd::consumer {

using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using std::chrono::seconds;

TEST_CASE("brokers that do not answer for a while are a problem until they answer") {
  PartitionStatus status;
  const auto now = PartitionStatus::Clock::now();
  CHECK_FALSE(status.problem(now));
  status.unanswered(now);
  CHECK_FALSE(status.problem(now + seconds{4}));
  status.unanswered(now + seconds{4});
  status.name_brokers("a:9092");
  status.connection_failed("a:9092/1: Connect failed");
  const auto problem = status.problem(now + seconds{5}).value_or("");
  CHECK_THAT(problem, StartsWith("the brokers do not answer (a:9092) since 2") &&
                          EndsWith("Z, last: a:9092/1: Connect failed"));
  status.answered({});
  CHECK_FALSE(status.problem(now + seconds{60}));
}

TEST_CASE("topics that the brokers do not know are a problem until they do") {
  PartitionStatus status;
  const auto now = PartitionStatus::Clock::now();
  status.answered({{"oders", "did you mean orders?"}, {"payments", "create it"}});
  CHECK(status.problem(now) == "the brokers know no topic oders (did you mean orders?), payments (create it)");
  CHECK(status.unknown_topics() == 2);
  status.answered({{"payments", "create it"}});
  CHECK(status.problem(now) == "the brokers know no topic payments (create it)");
  status.answered({});
  CHECK_FALSE(status.problem(now));
  CHECK(status.unknown_topics() == 0);
}

TEST_CASE("brokers that refuse the group are a problem until the group accepts this process or its offsets") {
  PartitionStatus status;
  const auto now = PartitionStatus::Clock::now();
  status.group_refused("the brokers refuse group orders");
  status.answered({});
  CHECK(status.problem(now + seconds{60}) == "the brokers refuse group orders");
  status.group_joined();
  CHECK_FALSE(status.problem(now + seconds{60}));
}

TEST_CASE("errors of unreachable brokers are counted from zero, others from their first") {
  PartitionStatus status;
  CHECK(status.errors().size() == PartitionStatus::unreachable_errors.size());
  for (const auto& [error, count] : status.errors()) CHECK(count == 0);
  status.count_error("_TRANSPORT");
  status.count_error("_MAX_POLL_EXCEEDED");
  status.unanswered();
  CHECK(status.errors().at("_TRANSPORT") == 1);
  CHECK(status.errors().at("_MAX_POLL_EXCEEDED") == 1);
  CHECK(status.errors().at("unanswered") == 1);
}

TEST_CASE("the lag is known while the high watermark is fresh") {
  PartitionStatus::Entry entry;
  const auto now = PartitionStatus::Clock::now();
  CHECK_FALSE(entry.lag(now));
  entry.position = entry.high_watermark = 10;
  entry.observed_at = now;
  CHECK(entry.lag(now + PartitionStatus::fresh) == 0);
  CHECK_FALSE(entry.lag(now + PartitionStatus::fresh + seconds{1}));
  entry.position = 7;
  CHECK(entry.lag(now + PartitionStatus::fresh) == 3);
  CHECK_FALSE(entry.lag(now + PartitionStatus::fresh + seconds{1}));
}

TEST_CASE("a partition is behind only if its position is known") {
  PartitionStatus status;
  const kafka::TopicPartition partition{"orders", 0};
  CHECK_FALSE(status.is_behind(partition, 10));
  status.assigned(partition);
  CHECK_FALSE(status.is_behind(partition, 10));
  status.advanced(partition, 9, 0);
  CHECK(status.is_behind(partition, 10));
  CHECK_FALSE(status.is_behind(partition, 9));
}

}  // namespace inboxd::consumer
