// Exchanges without an answer; exchanges with one are in the tests of admin and trace.
#include "base/http_exchange.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd::base;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST_CASE("an exchange without an answer reports a problem, and its deadline covers the name's resolution") {
  const auto refused = exchange({"http://127.0.0.1:1/", Clock::now() + 30s});
  CHECK(refused.status == 0);
  CHECK(refused.problem == "Connection refused");
  CHECK_FALSE(exchange({"http://no such name/", Clock::now() + 30s}).problem.empty());
  const auto began = Clock::now();
  CHECK_FALSE(exchange({"http://no.such.name.invalid/", began + 1ms}).problem.empty());
  CHECK(Clock::now() - began < 2s);
}

TEST_CASE("an exchange for this machine only connects to no other") {
  HttpQuestion question{"http://192.0.2.1:9/", Clock::now() + 30s};  // reserved for documentation: no machine has it
  question.only_this_machine = true;
  const auto began = Clock::now();
  CHECK(exchange(question).is_elsewhere);
  CHECK(Clock::now() - began < 2s);
  question.url = "http://127.0.0.1:1/";
  CHECK_FALSE(exchange(question).is_elsewhere);
}
