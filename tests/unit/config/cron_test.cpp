#include "config/cron.hpp"

#include <date/tz.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>
#include <string>
#include <vector>

using namespace inboxd::config;
using Catch::Matchers::ContainsSubstring;

namespace {

Cron::Time utc(const std::string& text) {
  date::sys_seconds out;
  std::istringstream{text} >> date::parse("%F %R", out);
  return Cron::Time{out.time_since_epoch()};
}

std::string text_of(Cron::Time time) {
  return date::format("%F %R", date::sys_seconds{floor<std::chrono::seconds>(time.time_since_epoch())});
}

/// The first `count` times after `from`, in UTC.
std::vector<std::string> times(const std::string& cron, const std::string& zone, const std::string& from, int count) {
  const auto parsed = Cron::parse(cron, zone);
  REQUIRE(parsed.ok());
  std::vector<std::string> out;
  for (Cron::Time at = utc(from); count > 0; --count) {
    at = *parsed.value().next(at);
    out.push_back(text_of(at));
  }
  return out;
}

using Times = std::vector<std::string>;

}  // namespace

TEST_CASE("a cron expression names minutes, hours, days and months") {
  CHECK(times("30 6 * * *", "UTC", "2026-11-25 06:30", 2) == Times{"2026-11-26 06:30", "2026-11-27 06:30"});
  CHECK(times("*/20 * * * *", "UTC", "2026-11-25 06:41", 3) ==
        Times{"2026-11-25 07:00", "2026-11-25 07:20", "2026-11-25 07:40"});
  CHECK(times("0 9,17 * * mon-fri", "UTC", "2026-11-27 09:00", 3) ==
        Times{"2026-11-27 17:00", "2026-11-30 09:00", "2026-11-30 17:00"});
  CHECK(times("0 0 29 2 *", "UTC", "2026-11-25 00:00", 1) == Times{"2028-02-29 00:00"});
  CHECK(times("0 0 1 jan,JUL *", "UTC", "2026-11-25 00:00", 2) == Times{"2027-01-01 00:00", "2027-07-01 00:00"});
  CHECK(times("5/25 0 * * *", "UTC", "2026-11-25 00:00", 3) ==
        Times{"2026-11-25 00:05", "2026-11-25 00:30", "2026-11-25 00:55"});
}

TEST_CASE("a day matches by its number or its weekday if both are restricted, and 7 is Sunday") {
  CHECK(times("0 0 13 * fri", "UTC", "2026-11-06 00:00", 3) ==
        Times{"2026-11-13 00:00", "2026-11-20 00:00", "2026-11-27 00:00"});
  CHECK(times("0 0 * * 7", "UTC", "2026-11-25 00:00", 1) == Times{"2026-11-29 00:00"});
  CHECK(times("0 0 * * 0", "UTC", "2026-11-25 00:00", 1) == Times{"2026-11-29 00:00"});
}

// fault: both daylight-saving changes
TEST_CASE("a time that the clocks skip comes right after the gap, once") {
  // Berlin, 2027-03-28: 02:00 becomes 03:00, which is 01:00 UTC.
  CHECK(times("30 2 * * *", "Europe/Berlin", "2027-03-27 00:00", 3) ==
        Times{"2027-03-27 01:30", "2027-03-28 01:00", "2027-03-29 00:30"});
  CHECK(times("0,30 2 * * *", "Europe/Berlin", "2027-03-27 12:00", 2) == Times{"2027-03-28 01:00", "2027-03-29 00:00"});
  CHECK(times("0 3 * * *", "Europe/Berlin", "2027-03-27 12:00", 1) == Times{"2027-03-28 01:00"});
}

// fault: both daylight-saving changes
TEST_CASE("a time that comes twice counts the first time") {
  // Berlin, 2026-10-25: 03:00 becomes 02:00 at 01:00 UTC.
  CHECK(times("30 2 * * *", "Europe/Berlin", "2026-10-24 12:00", 2) == Times{"2026-10-25 00:30", "2026-10-26 01:30"});
  CHECK(times("0 0 * * *", "America/Sao_Paulo", "2018-11-03 12:00", 2) ==
        Times{"2018-11-04 03:00", "2018-11-05 02:00"});
}

// fault: both daylight-saving changes
TEST_CASE("an interval follows the real hours through both changes of the clocks") {
  CHECK(times("*/30 * * * *", "Europe/Berlin", "2026-10-24 23:59", 6) == Times{"2026-10-25 00:00", "2026-10-25 00:30",
                                                                               "2026-10-25 01:00", "2026-10-25 01:30",
                                                                               "2026-10-25 02:00", "2026-10-25 02:30"});
  CHECK(times("0 * * * *", "Europe/Berlin", "2027-03-28 00:00", 3) ==
        Times{"2027-03-28 01:00", "2027-03-28 02:00", "2027-03-28 03:00"});
}

TEST_CASE("a wrong cron expression is refused with the field and the remedy") {
  const auto problem = [](const std::string& cron, const std::string& zone = "UTC") {
    const auto parsed = Cron::parse(cron, zone);
    return parsed.ok() ? std::string{} : parsed.problem().message;
  };
  CHECK_THAT(problem("0 6 * *"), ContainsSubstring("must have five fields"));
  CHECK_THAT(problem("60 6 * * *"), ContainsSubstring("'60' is no minute; write values from 0 to 59"));
  CHECK_THAT(problem("0 24 * * *"), ContainsSubstring("'24' is no hour"));
  CHECK_THAT(problem("0 0 0 * *"), ContainsSubstring("'0' is no day of month"));
  CHECK_THAT(problem("0 0 * foo *"), ContainsSubstring("'foo' is no month"));
  CHECK_THAT(problem("0 0 * * 8"), ContainsSubstring("'8' is no day of week"));
  CHECK_THAT(problem("0 5-1 * * *"), ContainsSubstring("'5-1' is no hour"));
  CHECK_THAT(problem("*/0 * * * *"), ContainsSubstring("'*/0' is no minute"));
  CHECK_THAT(problem("*/90 * * * *"), ContainsSubstring("'*/90' is no minute"));
  CHECK_THAT(problem("1,,2 * * * *"), ContainsSubstring("'' is no minute"));
  CHECK_THAT(problem("0 0 31 2 *"), ContainsSubstring("no day matches"));
  CHECK_THAT(problem("0 0 * * *", "Berlin"), ContainsSubstring("no time zone 'Berlin'"));
}
