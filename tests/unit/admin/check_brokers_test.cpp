// What `check` finds wrong with the client before it asks any broker.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "admin/check.hpp"

using namespace inboxd;
using namespace inboxd::admin;
using Catch::Matchers::ContainsSubstring;
using std::chrono::milliseconds;

TEST_CASE("a client that cannot be made is what is wrong") {
  config::Settings settings;
  settings.kafka.brokers = "127.0.0.1:1";
  settings.kafka.properties = {{"group.protocol", "consumer"}};
  const std::string wrong = GENERATE("no.such.property", "session.timeout.ms");
  settings.kafka.properties[wrong] = "6000";  // the newer protocol leaves the second to brokers
  const auto found = check_brokers(settings, milliseconds{1});
  REQUIRE(found.size() == 1);
  CHECK(found.front().kind == Finding::Kind::problem);
  CHECK_THAT(found.front().message, ContainsSubstring(wrong));
}
