// Findings of `check` before it asks any broker.
#include "operations/check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace inboxd;
using namespace inboxd::operations;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;

TEST_CASE("check reports a property that the client library refuses") {
  config::Settings settings;
  settings.kafka.brokers = "127.0.0.1:1";
  settings.kafka.properties = {{"group.protocol", "consumer"}};
  const std::string wrong = GENERATE("no.such.property", "session.timeout.ms");
  settings.kafka.properties[wrong] = "6000";  // with the newer protocol the brokers set the second
  const auto found = check_brokers(settings, milliseconds{1});
  REQUIRE(found.size() == 1);
  CHECK(found.front().kind == Finding::Kind::problem);
  CHECK_THAT(found.front().message, ContainsSubstring(wrong));
}
