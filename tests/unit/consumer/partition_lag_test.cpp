// When the high watermark of a partition is queried, which value counts, and when it is sent.
#include <catch2/catch_test_macros.hpp>

#include "consumer/partition_lag.hpp"

namespace inboxd::consumer {
namespace {

using namespace std::chrono_literals;

const HighWatermark::Clock::time_point assigned_at{1h};

/// A partition that was fetched up to 100 when it was assigned.
HighWatermark fetched_once() {
  HighWatermark out;
  out.observed_at = assigned_at;
  out.note_fetch(100, assigned_at);
  return out;
}

/// As fetched_once, and queried three seconds later.
HighWatermark queried() {
  HighWatermark out = fetched_once();
  out.queried_at = assigned_at + 3s;
  return out;
}

}  // namespace

TEST_CASE("a partition whose fetches bring news is not queried") {
  HighWatermark watermark = fetched_once();
  for (auto after = 1s; after < 100s; ++after) {
    watermark.note_fetch(100 + after.count(), assigned_at + after);
    CHECK_FALSE(watermark.is_query_due(assigned_at + after));
  }
}

TEST_CASE("a partition without news is queried every three seconds") {
  HighWatermark watermark = fetched_once();
  watermark.note_fetch(100, assigned_at + 2s);  // repeated by the library
  CHECK_FALSE(watermark.is_query_due(assigned_at + 2s));
  CHECK(watermark.is_query_due(assigned_at + 3s));
  watermark.queried_at = assigned_at + 3s;  // no answer
  CHECK_FALSE(watermark.is_query_due(assigned_at + 5s));
  CHECK(watermark.is_query_due(assigned_at + 6s));
}

TEST_CASE("a newly assigned partition is queried at once, so that its lag is known soon") {
  HighWatermark watermark;
  watermark.observed_at = assigned_at;
  CHECK(watermark.is_query_due(assigned_at));
  watermark.note_fetch(-1001, assigned_at);
  CHECK_FALSE(watermark.is_known());
  watermark.queried_at = assigned_at;
  CHECK_FALSE(watermark.is_query_due(assigned_at + 2s));
  CHECK(watermark.is_query_due(assigned_at + 3s));
}

TEST_CASE("an answer counts until a fetch brings news") {
  HighWatermark watermark = queried();
  watermark.note_answer(200);
  CHECK(watermark.offset == 200);
  CHECK(watermark.observed_at == assigned_at + 3s);
  watermark.note_fetch(100, assigned_at + 6s);
  CHECK(watermark.offset == 200);
  watermark.note_fetch(205, assigned_at + 7s);
  CHECK(watermark.offset == 205);
}

TEST_CASE("an answer is dropped if a fetch, or a new assignment, came after the query") {
  HighWatermark watermark = queried();
  watermark.note_fetch(205, assigned_at + 6s);
  watermark.note_answer(200);
  CHECK(watermark.offset == 205);
  HighWatermark again;
  again.observed_at = assigned_at + 6s;
  again.queried_at = assigned_at + 3s;
  again.note_answer(200);
  CHECK_FALSE(again.is_known());
}

TEST_CASE("the end of a log is sent once the shard is found, then every two seconds, its stable offset once") {
  PartitionLag lag{fetched_once()};
  lag.assigned_at = assigned_at;
  CHECK(lag.is_new(assigned_at + 9s));
  lag.stable_offset = 90;
  const kafka::TopicPartition orders{"orders", 0};
  const auto mark = lag.due_mark(orders, assigned_at + 1s);
  REQUIRE(mark);
  CHECK((mark->high == 100 && mark->stable == 90 && mark->age == 1s));
  CHECK_FALSE(lag.is_new(assigned_at + 9s));
  CHECK_FALSE(lag.due_mark(orders, assigned_at + 2s));
  lag.found(true);
  const auto again = lag.due_mark(orders, assigned_at + 2s);
  REQUIRE(again);
  CHECK_FALSE(again->stable);
  CHECK(lag.due_mark(orders, assigned_at + 4s));
}

TEST_CASE("a partition halted in another log has no lag: its end is neither queried nor sent") {
  PartitionLag lag{fetched_once()};
  lag.found(false);
  CHECK_FALSE(lag.is_query_due(assigned_at + 100s));
  CHECK_FALSE(lag.due_mark({"orders", 0}, assigned_at + 100s));
  lag.found(true);
  CHECK(lag.is_query_due(assigned_at + 100s));
  CHECK(lag.due_mark({"orders", 0}, assigned_at + 100s));
}

}  // namespace inboxd::consumer
