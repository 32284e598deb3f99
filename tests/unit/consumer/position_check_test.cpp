// An ingester compares its positions with the database.
#include <catch2/catch_test_macros.hpp>

#include "consumer/shard.hpp"

namespace inboxd::consumer {
namespace {

Shard shard_at(std::int32_t id, const std::string& topic, std::int32_t epoch, std::int64_t next_offset) {
  Shard out;
  out.assignment.partition = {topic, 0};
  out.position.shard_id = id;
  out.position.epoch = epoch;
  out.position.next_offset = next_offset;
  return out;
}

}  // namespace

TEST_CASE("a position is behind at a lower offset, in an older epoch, for another partition or missing") {
  Shard orders = shard_at(7, "orders", 1, 100);
  const auto found = [&](std::vector<inbox::ShardPlace> places) { return position_mismatches({&orders}, places); };
  CHECK(found({{7, "orders", 0, 1, 100}, {8, "payments", 0, 0, 5}}).empty());
  for (const auto& places : std::vector<std::vector<inbox::ShardPlace>>{{{7, "orders", 0, 1, 99}},
                                                                        {{7, "orders", 0, 0, 200}},
                                                                        {{7, "payments", 0, 1, 100}},
                                                                        {{7, "orders", 1, 1, 100}},
                                                                        {{8, "orders", 0, 1, 100}},
                                                                        {}}) {
    const auto lost = found(places);
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].shard == &orders);
    CHECK(lost[0].is_behind);
  }
  CHECK(found({{7, "orders", 0, 1, 99}})[0].next_offset == 99);
  CHECK_FALSE(found({})[0].next_offset);
}

TEST_CASE("a position that was moved forward is a mismatch, but not behind") {
  Shard orders = shard_at(7, "orders", 1, 100);
  for (const auto& place : {inbox::ShardPlace{7, "orders", 0, 1, 101}, inbox::ShardPlace{7, "orders", 0, 2, 50}}) {
    const auto found = position_mismatches({&orders}, {place});
    REQUIRE(found.size() == 1);
    CHECK_FALSE(found[0].is_behind);
  }
}

TEST_CASE("positions are compared at intervals, and at once in a new session") {
  const PositionCheck check;
  const auto now = PositionCheck::Clock::now();
  CHECK(check.is_due(0, now));
  CHECK(check.is_due(1, PositionCheck::Clock::time_point::min()));
  CHECK_FALSE(check.is_due(0, PositionCheck::Clock::time_point::min()));
}

}  // namespace inboxd::consumer
