#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/load.hpp"
#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using Catch::Matchers::Equals;

namespace {

/// The place of a character in a setting of the first handler; `more` is the end of the file.
std::string place(const std::string& more, int line, int column, const std::string& setting = "statement") {
  const auto loaded = load(std::string{needed} + more);
  REQUIRE_THAT(everything_said(loaded), Equals(""));
  return place_of_setting(loaded, 0, setting, line, column);
}

std::string at(int line, int column) { return "inboxd.yaml:" + std::to_string(line) + ":" + std::to_string(column); }

}  // namespace

TEST_CASE("a place in a setting's text maps to its place in the file") {
  // `needed` has eight lines: `more` begins in the ninth.
  CHECK(place("    settings:\n      statement: select a\n", 1, 8) == at(10, 25));
  CHECK(place("    settings:\n      statement: \"select 'a'\"\n", 1, 8) == at(10, 26));
  CHECK(place("    settings: {other: 1, statement: 'select a'}\n", 1, 8) == at(9, 45));
  CHECK(place("    settings:\n      statement: |\n        select a,\n          b\n", 2, 3) == at(12, 11));
  CHECK(place("    settings:\n      statement: |-\n\n        select a,\n        b\n", 3, 1) == at(13, 9));
  CHECK(place("    settings:\n      statement: |2  # more\n          select a\n", 1, 3) == at(11, 11));
  CHECK(place("    settings:\r\n      statement: |\r\n        select a,\r\n        b\r\n", 2, 1) == at(12, 9));
}

TEST_CASE("a text that is not written literally maps to its beginning") {
  CHECK(place("    settings:\n      statement: >\n        select a,\n        b\n", 1, 12) == at(10, 18));
  CHECK(place("    settings:\n      statement: 'it''s'\n", 1, 5) == at(10, 18));
  CHECK(place("    settings:\n      statement: select a,\n        b\n", 1, 12) == at(10, 18));
  CHECK(place("    settings:\n      statement: select ${NAME:-x} a\n", 1, 10) == at(10, 18));
}

TEST_CASE("a setting that is not in the file maps to the enclosing key") {
  CHECK(place("    settings: {other: 1}\n", 1, 1) == at(9, 5));
  CHECK(place("", 1, 1) == at(6, 5));
}
