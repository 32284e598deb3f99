// Numbers, sizes, ages and times as text.
#include "cli/value_text.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::cli;

TEST_CASE("numbers have separators") {
  CHECK(number_text(0) == "0");
  CHECK(number_text(999) == "999");
  CHECK(number_text(1000) == "1,000");
  CHECK(number_text(1'234'567) == "1,234,567");
  CHECK(number_text(-123) == "-123");
  CHECK(number_text(-1234) == "-1,234");
}

TEST_CASE("sizes have the largest unit that fits") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(5 << 20) == "5.0 MiB");
}

TEST_CASE("ages have one or two units") {
  CHECK(age_text(0.003) == "3 ms");
  CHECK(age_text(2.9) == "2 s");
  CHECK(age_text(600) == "10 min");
  CHECK(age_text(3600) == "1 h");
  CHECK(age_text(8000) == "2 h 13 min");
  CHECK(age_text(90'000) == "1 d 1 h");
}

TEST_CASE("a time in a table ends with its second") {
  CHECK(time_text("2024-01-31T12:00:00.123456Z") == "2024-01-31 12:00:00Z");
  CHECK(time_text("") == "");
}

TEST_CASE("a missing member of a document is empty text") {
  const Document document = {{"a", nullptr}, {"n", 1234}, {"t", "x"}, {"b", {{"base64", "/w=="}}}};
  CHECK(text_at(document, "a").empty());
  CHECK(text_at(document, "nothing").empty());
  CHECK(number_at(document, "n") == "1,234");
  CHECK(text_at(document, "n") == "1234");
  CHECK(bytes_at(document, "t") == "x");
  CHECK(bytes_at(document, "b") == "base64:/w==");
}

TEST_CASE("a count that stopped at a limit is shown with ≥") {
  CHECK(count_at({{"dead", 100'000}, {"at_least_dead", true}}, "dead") == "≥100,000");
  CHECK(count_at({{"dead", 7}}, "dead") == "7");
}
