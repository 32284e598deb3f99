#include "envelope/time.hpp"

#include <catch2/catch_test_macros.hpp>

#include <limits>

using namespace inboxd;
using namespace inboxd::envelope;
using namespace std::string_view_literals;

TEST_CASE("RFC 3339 times are read to the microsecond") {
  CHECK(parse_rfc3339("1970-01-01T00:00:00Z") == 0);
  CHECK(parse_rfc3339("2024-05-01T12:00:00.25Z") == 1714564800250000);
  CHECK(parse_rfc3339("2024-05-01T12:00:00.250000999Z") == 1714564800250000);
  CHECK(parse_rfc3339("2024-05-01t12:00:00z") == 1714564800000000);
  CHECK(parse_rfc3339("2024-05-01 12:00:00Z") == 1714564800000000);
  CHECK(parse_rfc3339("2024-05-01T12:00:00-05:30") == 1714584600000000);
  CHECK(parse_rfc3339("2024-05-01T12:00:00+00:00") == 1714564800000000);
  CHECK(parse_rfc3339("1969-12-31T23:59:59.999999Z") == -1);
  CHECK(parse_rfc3339("2024-02-29T00:00:00Z") == 1709164800000000);
  CHECK(parse_rfc3339("2016-12-31T23:59:60Z") == parse_rfc3339("2017-01-01T00:00:00Z"));
  CHECK(parse_rfc3339("0001-01-01T00:00:00Z") == -62135596800000000);
  CHECK(parse_rfc3339("9999-12-31T23:59:59.999999Z") == 253402300799999999);
}

TEST_CASE("other texts are no RFC 3339 times") {
  for (const std::string_view text :
       {""sv, "2024-05-01"sv, "2024-05-01T12:00:00"sv, "2024-05-01T12:00Z"sv, "2024-13-01T00:00:00Z"sv,
        "2024-00-01T00:00:00Z"sv, "2023-02-29T00:00:00Z"sv, "2024-05-32T00:00:00Z"sv, "2024-05-00T00:00:00Z"sv,
        "2024-05-01T24:00:00Z"sv, "2024-05-01T12:60:00Z"sv, "2024-05-01T12:00:61Z"sv, "2024-05-01T12:00:00.Z"sv,
        "2024-05-01T12:00:00+0000"sv, "2024-05-01T12:00:00+24:00"sv, "2024-05-01T12:00:00+00:60"sv,
        "2024-05-01T12:00:00Zx"sv, " 2024-05-01T12:00:00Z"sv, "2024-05-01T12:00:00Z\0"sv, "-024-05-01T12:00:00Z"sv,
        "12024-05-01T12:00:00Z"sv, "2024-5-1T12:00:00Z"sv, "２024-05-01T12:00:00Z"sv, "now"sv}) {
    INFO(text);
    CHECK_FALSE(parse_rfc3339(text));
  }
}

TEST_CASE("the unit of a number is told by its magnitude, or set") {
  constexpr event::Microseconds time = 1'714'564'800'250'000;
  CHECK(parse_time("1714564800") == 1'714'564'800'000'000);
  CHECK(parse_time("1714564800.25") == time);
  CHECK(parse_time("1714564800250") == time);
  CHECK(parse_time("1714564800250000") == time);
  CHECK(parse_time("1714564800250000999") == time);
  CHECK(parse_time("0") == 0);
  CHECK(parse_time("-1") == -1'000'000);
  CHECK(parse_time("-1.5") == -1'500'000);
  CHECK(parse_time("1714564800.2500009") == time);
  CHECK(parse_time("2024-05-01T12:00:00Z") == 1714564800000000);
  using enum config::TimeUnit;
  CHECK(parse_time("1714564800250", ms) == time);
  CHECK(parse_time("1000", s) == 1'000'000'000);
  CHECK(parse_time("1000", ms) == 1'000'000);
  CHECK(parse_time("1000.7", us) == 1'000);
  CHECK(parse_time("1999", ns) == 1);
  CHECK(parse_time("-1", ns) == -1);
  CHECK_FALSE(parse_time("9223372036854775807", ms));
  for (const std::string_view text : {"", "-", "1.", ".5", "1.5.5", "1e3", "+1", " 1", "99999999999999999999"}) {
    INFO(text);
    CHECK_FALSE(parse_time(text));
  }
}

TEST_CASE("times that the database cannot hold are left out") {
  constexpr event::Microseconds earliest = -210'866'803'200'000'000;
  CHECK(database_time(earliest) == earliest);
  CHECK_FALSE(database_time(earliest - 1));
  CHECK_FALSE(database_time(std::numeric_limits<event::Microseconds>::min()));
  CHECK(database_time(std::numeric_limits<event::Microseconds>::max()) ==
        std::numeric_limits<event::Microseconds>::max());
  CHECK_FALSE(database_time(std::nullopt));
}
