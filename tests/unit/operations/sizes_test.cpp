#include <catch2/catch_test_macros.hpp>

#include "operations/size_queries.hpp"

using namespace inboxd;
using namespace inboxd::operations;

namespace {

/// Days of `event`, at `hours` of today.
std::vector<TableSize> days_at(std::int64_t hours) {
  const std::int64_t today = hours * 3'600 - 86'400;
  return {{"event", "2026-11-23", 500, today + 2 * 86'400},
          {"event", "2026-11-24", 700, today + 86'400},
          {"event", "2026-11-25", 300, today},
          {"event", "2026-11-26", 8, today - 86'400},
          {"ledger", std::nullopt, 9'000, std::nullopt}};
}

}  // namespace

TEST_CASE("the growth of a table with days is today's, or yesterday's while today is young") {
  CHECK(bytes_per_day(days_at(6), "event") == 1'200);
  CHECK(bytes_per_day(days_at(0), "event") == 700);
  CHECK(bytes_per_day(days_at(6), "ledger") == 0);
}

TEST_CASE("the days left are the days until the oldest day is dropped") {
  config::Retention retention;
  retention.events = std::chrono::hours{24 * 30};
  const auto left = [&] { return document_of(days_at(6), retention).at("growth").at(0).at("days_left"); };
  CHECK(left() == 28.75);  // the oldest day has been over for 30 hours
  retention.events = std::chrono::hours{1};
  CHECK(left() == 0);
  retention.events = std::nullopt;
  CHECK(left().is_null());
  CHECK(document_of(days_at(6), retention).at("bytes") == 10'508);
}
