// What `check` finds wrong with the client before it asks any broker.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "admin/check.hpp"
#include "kafka/properties.hpp"

using namespace inboxd;
using namespace inboxd::admin;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;

TEST_CASE("a client that cannot be made hides nothing of what was found before") {
  config::Settings settings;
  settings.kafka.brokers = "127.0.0.1:1";
  settings.kafka.properties = {{"group.protocol", "consumer"}};
  const bool is_too_old = !kafka::assignment_problem(settings.kafka.properties).empty();
  const std::string wrong = GENERATE("no.such.property", "session.timeout.ms");
  settings.kafka.properties[wrong] = "6000";  // the newer protocol leaves the second to brokers
  const auto found = check_brokers(settings, milliseconds{1});
  REQUIRE(found.size() == (is_too_old ? 2U : 1U));
  for (const auto& finding : found) CHECK(finding.kind == Finding::Kind::problem);
  if (is_too_old) CHECK_THAT(found.front().message, ContainsSubstring("2.15"));
  CHECK_THAT(found.back().message, ContainsSubstring(wrong));
}
