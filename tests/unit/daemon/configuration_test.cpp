#include "daemon/configuration.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "config/secrets.hpp"
#include "kafka/properties.hpp"
#include "kafka/property_check.hpp"
#include "support/environment.hpp"

using namespace inboxd;
using Catch::Matchers::ContainsSubstring;

namespace {

/// All that is wrong with a file whose properties are these, a line each, from line 6 on.
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

TEST_CASE("properties that the client library takes pass") {
  CHECK(problems_with("    security.protocol: sasl_ssl\n    session.timeout.ms: 6000\n    debug: cgrp\n").empty());
}

TEST_CASE("a property that would have no effect, because it is for producers, is refused with its place") {
  for (const char* const name : {"acks", "linger.ms", "compression.type", "transactional.id", "topic.acks"}) {
    CHECK_THAT(problems_with(std::string{"    "} + name + ": '1'\n"),
               ContainsSubstring(std::string{":6:5: kafka.properties."} + name + ": this property is a producer's"));
  }
  CHECK_FALSE(kafka::is_for_producers("fetch.min.bytes"));
  CHECK_FALSE(kafka::is_for_producers("client.id"));
}

TEST_CASE("an assignment that the client library is too old to be trusted with is refused with its place") {
  const auto unsound = kafka::assignment_problem({{"group.protocol", "consumer"}});
  const auto text = problems_with("    group.protocol: consumer\n");
  CHECK(text.empty() == unsound.empty());
  if (!unsound.empty()) {
    CHECK_THAT(text, ContainsSubstring(":6:21: kafka.properties.group.protocol: ") && ContainsSubstring(unsound));
  }
}

TEST_CASE("every property that the client library does not take is told with its place and what would be right") {
  for (const bool offline : {false, true}) {
    const auto text = problems_with(
        "    sesion.timeout.ms: 6000\n    session.timeout.ms: abc\n    zzz: 1\n    auto.ofset.reset: earliest\n"
        "    security.protocol: ssl_sasl\n",
        offline);
    INFO(text);
    CHECK_THAT(text, ContainsSubstring(":6:5: kafka.properties.sesion.timeout.ms: librdkafka "));
    CHECK_THAT(text, ContainsSubstring("knows no such property; did you mean session.timeout.ms?\n"));
    CHECK_THAT(text, ContainsSubstring(":7:25: kafka.properties.session.timeout.ms: librdkafka does not take"));
    CHECK_THAT(text, ContainsSubstring("it takes 1 .. 3600000\n"));
    CHECK_THAT(text, ContainsSubstring(":8:5: kafka.properties.zzz: librdkafka "));
    CHECK_THAT(text, ContainsSubstring("its CONFIGURATION.md has them all\n"));
    CHECK_THAT(text, ContainsSubstring("did you mean auto.offset.reset? this property may not be set: it belongs"));
    CHECK_THAT(text, ContainsSubstring("it takes plaintext, ssl, sasl_plaintext, sasl_ssl\n"));
  }
}

TEST_CASE("a secret that stands under a misspelt name, or is of another client's, is neither read nor shown") {
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

// What makes it right that the library is not told a secret's own text, which offline nobody knows.
TEST_CASE("the client library takes any text for each property that is a secret") {
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
