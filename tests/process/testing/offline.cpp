#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/testing/testing_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// `check --offline` of a handler `http` with these settings.
Finished checked(const std::string& settings, const std::string& plugin = "http") {
  TestingFixture fixture{"  - {name: notify, plugin: " + plugin + ", subscribe: {}, settings: {" + settings + "}}\n"};
  const std::string file = fixture.folder / "inboxd.yaml";
  return run_to_end({.arguments = {daemon_program(), "--config", file, "check", "--offline"}});
}

}  // namespace

TEST_CASE("check --offline finds mistakes in names and settings of shipped handlers, also beside secrets") {
  const std::string secret = ", signing_secret: {env: INBOXD_TEST_ABSENT}";
  CHECK(checked("url: 'http://service/a'").status == ExitStatus{0, 0});
  CHECK(checked("url: 'http://service/a'" + secret).status == ExitStatus{0, 0});
  const auto misspelt = checked("urll: 'http://service/a'" + secret);
  CHECK(misspelt.status == ExitStatus{78, 0});
  CHECK_THAT(misspelt.out, ContainsSubstring("inboxd.yaml:6:") && ContainsSubstring("unknown setting 'urll'"));
  const auto wrong = checked("url: 'ftp://service/a'" + secret);
  CHECK(wrong.status == ExitStatus{78, 0});
  CHECK_THAT(wrong.out, ContainsSubstring("it must begin with http:// or https://"));
  const auto unknown = checked("url: a", "htpp");
  CHECK(unknown.status == ExitStatus{78, 0});
  CHECK_THAT(unknown.out, ContainsSubstring("htpp"));
}
