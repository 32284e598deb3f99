// An operation's arguments as typed.
#include "operations/parameters.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace inboxd::operations;
using Catch::Matchers::ContainsSubstring;
using Kind = Parameter::Kind;
using Given = std::map<std::string, std::vector<std::string>>;

namespace {

constexpr inboxd::event::Microseconds noon = 1'706'702'400'000'000;  // 2024-01-31T12:00:00Z

std::vector<Parameter> some() {
  return {{"id", Kind::text, "", "ID", Parameter::Place::word},
          {"type", Kind::texts, "", "TYPE"},
          {"since", Kind::time, "", "TIME"},
          {"dry-run", Kind::flag, ""},
          limit_parameter(50)};
}

Arguments read(const Given& given) { return read_arguments(some(), given, noon).value(); }

std::string problem(const Given& given) { return read_arguments(some(), given, noon).problem().message; }

}  // namespace

TEST_CASE("a missing argument is null, a flag is off, a number has its default") {
  const auto arguments = read({{"id", {"x"}}});
  CHECK(arguments.text("id") == "x");
  CHECK(arguments.texts("type").empty());
  CHECK_FALSE(arguments.time("since"));
  CHECK_FALSE(arguments.flag("dry-run"));
  CHECK(arguments.number("limit") == 50);
}

TEST_CASE("a required word that is missing is refused") { CHECK(problem({}) == "ID is missing"); }

TEST_CASE("a time is RFC 3339 or a duration ago") {
  CHECK(read({{"id", {"x"}}, {"since", {"2024-01-31T12:00:00Z"}}}).time("since") == noon);
  CHECK(read({{"id", {"x"}}, {"since", {"2h"}}}).time("since") == noon - 7'200'000'000);
  CHECK_THAT(problem({{"id", {"x"}}, {"since", {"yesterday"}}}),
             ContainsSubstring("--since: \"yesterday\" is not a time such as 2024-01-31T12:00:00Z"));
}

TEST_CASE("a number outside its range is refused with the range") {
  CHECK(read({{"id", {"x"}}, {"limit", {"10000"}}}).number("limit") == 10'000);
  for (const std::string text : {"0", "10001", "-1", "1.5", "x", "", "99999999999999999999"}) {
    CAPTURE(text);
    CHECK_THAT(problem({{"id", {"x"}}, {"limit", {text}}}), ContainsSubstring("is not a whole number from 1 to 10000"));
  }
}

TEST_CASE("bytes that are not UTF-8 text never reach the database") {
  CHECK_THAT(problem({{"id", {"a\xff"}}}), ContainsSubstring("ID: \"a\\xff\" is not UTF-8 text"));
  CHECK_THAT(problem({{"id", {std::string{"a\0b", 3}}}}), ContainsSubstring("is not UTF-8 text"));
}

TEST_CASE("the audit gets the arguments without dry-run and yes") {
  const auto arguments = read({{"id", {"a b"}}, {"type", {"x", "y"}}, {"dry-run", {"true"}}});
  CHECK(arguments.asked() == "\"a b\" --type x --type y");
}

TEST_CASE("asking for an undeclared argument is a bug") {
  const auto arguments = read({{"id", {"x"}}});
  CHECK_THROWS_AS(arguments.flag("nothing"), std::logic_error);
}
