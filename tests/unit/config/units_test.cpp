#include "config/units.hpp"

#include <catch2/catch_test_macros.hpp>
#include <limits>

using namespace inboxd::config;
using namespace std::chrono_literals;

TEST_CASE("a duration is a whole number with its unit") {
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("30s") == 30s);
  CHECK(parse_duration("5m") == 5min);
  CHECK(parse_duration("12h") == 12h);
  CHECK(parse_duration("7d") == 168h);
  CHECK(parse_duration("0ms") == 0ms);
  for (const char* const wrong : {"", "5", "s", "-1s", "+1s", "1.5s", "1 s", "1S", "1h30m", "1w", "forever", " 1s",
                                  "99999999999999999999s", "9223372036854775807d"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_duration(wrong).has_value());
  }
}

TEST_CASE("a size is a whole number of bytes, KiB, MiB or GiB") {
  CHECK(parse_size("512B") == 512);
  CHECK(parse_size("64KiB") == 65'536);
  CHECK(parse_size("8MiB") == 8'388'608);
  CHECK(parse_size("2GiB") == 2'147'483'648);
  for (const char* const wrong : {"", "512", "64KB", "64kib", "1.5MiB", "-1B", "1 MiB", "9223372036854775807GiB"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_size(wrong).has_value());
  }
}

TEST_CASE("a time is RFC 3339 with its offset") {
  CHECK(parse_time("1970-01-01T00:00:00Z") == 0);
  CHECK(parse_time("2024-01-31T12:00:00Z") == 1'706'702'400'000'000);
  CHECK(parse_time("2024-01-31T13:00:00+01:00") == parse_time("2024-01-31T12:00:00Z"));
  CHECK(parse_time("2024-01-31T06:30:00-05:30") == parse_time("2024-01-31t12:00:00z"));
  CHECK(parse_time("2024-02-29 00:00:00.25Z") == *parse_time("2024-02-29T00:00:00Z") + 250'000);
  CHECK(parse_time("1969-12-31T23:59:59.9999999Z") == -1);
  for (const char* const wrong :
       {"", "2024-01-31", "2024-01-31T12:00:00", "2023-02-29T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-31T24:00:00Z",
        "2024-01-31T12:00:60Z", "2024-01-31T12:00:00.Z", "2024-01-31T12:00:00+0100", "2024-01-31T12:00:00Zx",
        "2024-01-31T12:00:00+25:00", "24-01-31T12:00:00Z"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_time(wrong).has_value());
  }
}

TEST_CASE("written values parse to the same value") {
  CHECK(duration_text(30s) == "30s");
  CHECK(duration_text(90s) == "90s");
  CHECK(duration_text(5min) == "5m");
  CHECK(duration_text(720h) == "30d");
  CHECK(duration_text(0ms) == "0ms");
  CHECK(size_text(1 << 20) == "1MiB");
  CHECK(size_text(1500) == "1500B");
  CHECK(size_text(0) == "0B");
  CHECK(time_text(1'706'702'400'000'000) == "2024-01-31T12:00:00Z");
  CHECK(time_text(-1) == "1969-12-31T23:59:59.999999Z");
  CHECK(time_text(250'000) == "1970-01-01T00:00:00.25Z");
  CHECK(time_text(253'402'300'799'000'000) == "9999-12-31T23:59:59Z");
  // The ends of 64 bits.
  CHECK(time_text(std::numeric_limits<std::int64_t>::max()) == "294247-01-10T04:00:54.775807Z");
  CHECK(time_text(std::numeric_limits<std::int64_t>::min()) == "-290308-12-21T19:59:05.224192Z");
}
