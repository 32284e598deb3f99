// Findings of `check` before it asks any broker.
#include "operations/check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "operations/broker_problem.hpp"

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

TEST_CASE("brokers that refuse are told from brokers that are not reached, with the remedy") {
  const std::map<std::string, std::string> login{{"sasl.username", "app"}, {"sasl.mechanism", "SCRAM-SHA-512"}};
  struct Case {
    const char* warning;
    Finding::Kind kind;
    const char* remedy;
  };
  const auto [warning, kind, remedy] = GENERATE(values<Case>({
      {"sasl_ssl://b:1/bootstrap: SASL authentication error: Authentication failed during authentication due to "
       "invalid credentials with SASL mechanism SCRAM-SHA-512 (after 5ms in state AUTH_REQ)",
       Finding::Kind::refused, "the broker refuses user app (SCRAM-SHA-512): correct sasl.username"},
      {"ssl://b:1/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker "
       "certificate could not be verified, verify that ssl.ca.location is correctly configured",
       Finding::Kind::refused, "set ssl.ca.location"},
      {"b:1/bootstrap: Disconnected while requesting ApiVersion: might be caused by incorrect security.protocol "
       "configuration (connecting to a SSL listener?) or broker version is < 0.10",
       Finding::Kind::refused, "answers, but not in plaintext: set security.protocol"},
      {"b:1/bootstrap: Disconnected: connection closed by peer: receive 0 after POLLIN (after 66ms in state "
       "APIVERSION_QUERY)",
       Finding::Kind::problem, "as a listener with TLS does to a client in plaintext: set security.protocol"},
      {"ssl://b:1/bootstrap: Receive failed: error:0A000416:SSL routines::sslv3 alert certificate unknown: SSL alert "
       "number 46",
       Finding::Kind::refused, "does not accept this client's certificate: set ssl.certificate.location"},
      {"ssl://b:1/bootstrap: SSL handshake failed: Disconnected: connecting to a PLAINTEXT broker listener?",
       Finding::Kind::refused, "answers, but not with TLS"},
      {"b:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused", Finding::Kind::unreachable,
       "correct kafka.brokers or open the network"},
      {"", Finding::Kind::unreachable, "correct kafka.brokers or open the network"},
  }));
  const Finding found = broker_problem("b:1", login, warning);
  INFO(found.message);
  CHECK(found.kind == kind);
  CHECK_THAT(found.message, ContainsSubstring(remedy));
}
