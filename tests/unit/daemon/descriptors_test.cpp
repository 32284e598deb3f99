#include "daemon/descriptors.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

// fault: descriptor limit of 1,024
TEST_CASE("handlers that need more descriptors than the process may open are refused with their share") {
  config::Settings settings;
  const auto usual = daemon::descriptors_needed(settings);
  CHECK_FALSE(daemon::descriptors_problem(settings, 1'024));
  config::Handler http;
  http.name = "push";
  http.plugin = "http";
  http.concurrency = 1'000;
  config::Handler exec = http;
  exec.name = "run";
  exec.plugin = "exec";
  settings.handlers = {http, exec};
  CHECK(daemon::descriptors_needed(settings) == usual + 1'002 + 4'000);
  CHECK_FALSE(daemon::descriptors_problem(settings, 20'000));
  const auto problem = daemon::descriptors_problem(settings, 1'024);
  REQUIRE(problem);
  CHECK_THAT(problem->message, ContainsSubstring("1024 files") && ContainsSubstring("push: 1002, run: 4000") &&
                                   ContainsSubstring("LimitNOFILE="));
}
