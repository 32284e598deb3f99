// Findings of `check` before it asks any broker.
#include "operations/check.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "operations/broker_problem.hpp"
#include "operations/kafka_files.hpp"
#include "support/test_environment.hpp"

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
      {"ssl://b:1/bootstrap: Disconnected: SSL connection closed by peer (after 23ms in state UP)",
       Finding::Kind::problem, "if it wants a login, set security.protocol to sasl_ssl, and sasl.mechanism"},
      {"ssl://b:1/bootstrap: Disconnected: connection reset by peer (after 3ms in state UP)", Finding::Kind::problem,
       "if it wants a login, set security.protocol to sasl_ssl"},
      {"ssl://b:1/bootstrap: Send failed: SSL transport error: Broken pipe (after 0ms in state UP)",
       Finding::Kind::problem, "if it wants a login, set security.protocol to sasl_ssl"},
      {"b:1/bootstrap: Send failed: Broken pipe (after 0ms in state APIVERSION_QUERY)", Finding::Kind::problem,
       "as a listener with TLS does to a client in plaintext: set security.protocol"},
      {"b:1/bootstrap: Send failed: Broken pipe (after 1ms in state UP)", Finding::Kind::problem,
       "it closes each connection: if it wants a login"},
      {"ssl://b:1/bootstrap: Disconnected: SSL connection closed by peer (after 60000ms in state UP)",
       Finding::Kind::unreachable, "correct kafka.brokers or open the network"},
      {"b:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused", Finding::Kind::unreachable,
       "correct kafka.brokers or open the network"},
      {"", Finding::Kind::unreachable, "correct kafka.brokers or open the network"},
  }));
  const Finding found = broker_problem("b:1", login, warning);
  INFO(found.message);
  CHECK(found.kind == kind);
  CHECK_THAT(found.message, ContainsSubstring(remedy));
}

TEST_CASE("check names a file of certificates or keys that cannot be read, with its property, path and reason") {
  const support::TempFolder folder;
  const std::string missing = (folder / "missing.pem").string(), there = (folder / "there.pem").string();
  support::write_file(there, "text");
  config::Settings settings;
  settings.kafka.brokers = "b:1";
  const auto said = [&](const std::string& name, const std::string& path) {
    settings.kafka.properties = {{"security.protocol", "ssl"}, {name, path}};
    std::string out;
    for (const Finding& finding : check_kafka_files(settings)) {
      CHECK(finding.kind == Finding::Kind::problem);
      out += finding.subject + ": " + finding.message;
    }
    return out;
  };
  const std::string name = GENERATE("ssl.ca.location", "ssl.certificate.location", "ssl.key.location");
  CAPTURE(name);
  const std::string remedy = "; correct the path, or let the daemon's user read it",
                    unread = "brokers b:1: kafka.properties." + name + ": ";
  CHECK(said(name, missing) == unread + missing + " cannot be read: No such file or directory" + remedy);
  CHECK(check_brokers(settings, milliseconds{1}).size() == 1);
  CHECK(said(name, there).empty());
  const std::string of_folder = unread + folder.path().string() + " cannot be read: it is a folder" + remedy;
  CHECK(said(name, folder.path().string()) == (name == "ssl.ca.location" ? "" : of_folder));
  CHECK(said("ssl.ca.location", "probe").empty());
  settings.kafka.properties = {{name, missing}};  // without TLS it has no effect
  CHECK(check_kafka_files(settings).empty());
  config::Handler copy;
  copy.name = "copy";
  copy.plugin = "kafka";
  copy.settings["properties"] = R"({"security.protocol":"ssl",")" + name + R"(":"/nowhere.pem"})";
  settings.handlers.push_back(copy);
  const auto own = check_kafka_files(settings);
  REQUIRE(own.size() == 1);
  CHECK(own[0].subject == "handler copy");
  CHECK_THAT(own[0].message, ContainsSubstring("settings.properties." + name + ": /nowhere.pem cannot be read: No"));
}
