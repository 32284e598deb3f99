#include "daemon/load_configuration.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/secrets.hpp"
#include "kafka/properties.hpp"
#include "kafka/property_check.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The problems of a file with these properties, a line for each; the properties begin in line 6.
std::string problems_with(const std::string& properties, bool offline = false) {
  const support::TempFolder folder;
  const std::string path = folder / "inboxd.yaml";
  support::write_file(path, "database: {url: postgresql://app@localhost/app}\n"
                            "kafka:\n  brokers: localhost:9092\n  group: g\n  properties:\n" +
                                properties +
                                "topics: [{name: orders}]\n"
                                "handlers: [{name: first, plugin: log, subscribe: {topics: [orders]}}]\n");
  std::string out;
  for (const auto& problem : daemon::load_configuration(path, offline).problems) {
    out += problem.text().substr(path.size()) + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("properties that the client library accepts pass") {
  CHECK(problems_with("    security.protocol: sasl_ssl\n    session.timeout.ms: 6000\n    debug: cgrp\n").empty());
}

TEST_CASE("a producer's property is for the relay, except properties on which its promises depend") {
  CHECK(problems_with("    linger.ms: 5\n    compression.type: zstd\n").empty());
  for (const char* const name : {"acks", "enable.idempotence", "retries", "transactional.id", "topic.acks"}) {
    CHECK_THAT(problems_with(std::string{"    "} + name + ": '1'\n"),
               ContainsSubstring(std::string{":6:5: kafka.properties."} + name + ": this property may not be set"));
  }
  CHECK_FALSE(kafka::is_for_producers("fetch.min.bytes"));
  CHECK_FALSE(kafka::is_for_producers("client.id"));
}

TEST_CASE("an assignment that is unsafe with an old client library is refused with its place") {
  const auto unsound = kafka::assignment_problem({{"group.protocol", "consumer"}});
  const auto text = problems_with("    group.protocol: consumer\n");
  CHECK(text.empty() == unsound.empty());
  if (!unsound.empty()) {
    CHECK_THAT(text, ContainsSubstring(":6:21: kafka.properties.group.protocol: ") && ContainsSubstring(unsound));
  }
}

TEST_CASE("every property that the client library refuses is reported with its place and the remedy") {
  for (const bool offline : {false, true}) {
    const auto text = problems_with(
        "    sesion.timeout.ms: 6000\n    session.timeout.ms: abc\n    zzz: 1\n    auto.ofset.reset: earliest\n"
        "    security.protocol: ssl_sasl\n",
        offline);
    INFO(text);
    CHECK_THAT(text, ContainsSubstring(":6:5: kafka.properties.sesion.timeout.ms: librdkafka "));
    CHECK_THAT(text, ContainsSubstring("has no such property; did you mean session.timeout.ms?\n"));
    CHECK_THAT(text, ContainsSubstring(":7:25: kafka.properties.session.timeout.ms: librdkafka refuses the value"));
    CHECK_THAT(text, ContainsSubstring("it takes 1 .. 3600000\n"));
    CHECK_THAT(text, ContainsSubstring(":8:5: kafka.properties.zzz: librdkafka "));
    CHECK_THAT(text, ContainsSubstring("see its CONFIGURATION.md\n"));
    CHECK_THAT(text, ContainsSubstring("did you mean auto.offset.reset? this property may not be set: the daemon"));
    CHECK_THAT(text, ContainsSubstring("it takes plaintext, ssl, sasl_plaintext, sasl_ssl\n"));
  }
}

TEST_CASE("a secret under a misspelt or unknown name is neither read nor shown") {
  for (const bool offline : {false, true}) {
    const auto text = problems_with(
        "    sasl.pasword: hunter2\n    ssl.key.passwort: {file: /nonexistent}\n    sasl.jaas.config: hunter2\n",
        offline);
    INFO(text);
    CHECK_THAT(text, ContainsSubstring(":6:5: kafka.properties.sasl.pasword: ") &&
                         ContainsSubstring("did you mean sasl.password?\n"));
    CHECK_THAT(text, ContainsSubstring(":7:5: kafka.properties.ssl.key.passwort: ") &&
                         ContainsSubstring("did you mean ssl.key.password?\n"));
    CHECK_THAT(text, ContainsSubstring(":8:23: kafka.properties.sasl.jaas.config: "));
    CHECK_THAT(text, !ContainsSubstring("hunter2") && !ContainsSubstring("cannot be read"));
  }
}

// Therefore the library need not see secrets, which are unknown offline.
TEST_CASE("the client library accepts any text for secret properties") {
  int secrets = 0;
  for (const std::string& name : kafka::property_names()) {
    if (!config::is_secret_property(name)) continue;
    ++secrets;
    INFO(name);
    CHECK_FALSE(kafka::refusal_of_value(name, "").has_value());
    CHECK_FALSE(kafka::refusal_of_value(name, "hunter2").has_value());
  }
  CHECK(secrets > 3);
}
