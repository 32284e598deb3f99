#include "config/schedule.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::config;
using namespace std::chrono_literals;

namespace {

Schedule::Time at(std::chrono::seconds since_1970) { return Schedule::Time{since_1970}; }

Schedule every(milliseconds period) {
  Batch batch;
  batch.every = period;
  return Schedule{batch};
}

Schedule cron(const std::string& text) {
  Batch batch;
  batch.cron = text;
  return Schedule{batch};
}

}  // namespace

TEST_CASE("windows of a period close at its multiples since 1970") {
  const Schedule schedule = every(10s);
  CHECK(schedule.next(at(0s)) == at(10s));
  CHECK(schedule.next(at(10s)) == at(20s));
  CHECK(schedule.next(at(19s)) == at(20s));
}

TEST_CASE("missed closes become a single close: the latest") {
  const Schedule schedule = every(10s);
  CHECK_FALSE(schedule.latest(at(20s), at(29s)));
  CHECK(schedule.latest(at(20s), at(30s)) == at(30s));
  CHECK(schedule.latest(at(20s), at(999s)) == at(990s));
  const Schedule daily = cron("0 6 * * *");
  const auto day = std::chrono::seconds{24h};
  CHECK_FALSE(daily.latest(at(6h), at(day + 5h)));
  CHECK(daily.latest(at(6h), at(day + 6h)) == at(day + 6h));
  CHECK(daily.latest(at(6h), at(1'000 * day + 3h)) == at(999 * day + 6h));
  CHECK(cron("*/5 * * * *").latest(at(0s), at(5'000 * day + 7min)) == at(5'000 * day + 5min));
  CHECK(cron("* * * jan *").latest(at(0s), at(5'000 * day)) == at(4'779 * day - 1min));  // 31 January 1983
  CHECK(cron("0 0 29 2 *").latest(at(0s), at(2'000 * day)) == at(789 * day));  // 1972
}
