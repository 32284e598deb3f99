#include "config/kafka_properties.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "unit/config/files.hpp"

using namespace inboxd::config;
using namespace inboxd::tests;
using Catch::Matchers::ContainsSubstring;

// fault: dangerous librdkafka key
TEST_CASE("properties that load code, are test hooks or belong to the daemon are refused with the reason") {
  const auto refused = [](const std::string& name) {
    return problems(load(replaced(needed, "kafka: {", "kafka: {properties: {" + name + ": x}, ")));
  };
  for (const std::string name : {"plugin.library.paths", "sasl.kerberos.kinit.cmd", "ssl.engine.location",
                                 "ssl.engine.id", "ssl.providers", "interceptors"}) {
    CHECK_THAT(refused(name),
               ContainsSubstring("inboxd.yaml:2:22: kafka.properties." + name +
                                 ": this property may not be set: it makes the daemon load or run code"));
  }
  for (const std::string name : {"test.mock.num.brokers", "test.mock.broker.rtt", "test.anything"}) {
    CHECK_THAT(refused(name), ContainsSubstring("it is a test hook"));
  }
  CHECK_THAT(refused("group.id"), ContainsSubstring("use kafka.group"));
  CHECK_THAT(refused("group.instance.id"), ContainsSubstring("use kafka.instance_id"));
  CHECK_THAT(refused("bootstrap.servers"), ContainsSubstring("use kafka.brokers"));
  CHECK_THAT(refused("metadata.broker.list"), ContainsSubstring("use kafka.brokers"));
  CHECK_THAT(refused("auto.offset.reset"), ContainsSubstring("use topics[].start"));
  CHECK_THAT(refused("queued.max.messages.kbytes"), ContainsSubstring("use ingest.queued_bytes"));
  CHECK_THAT(refused("queued.min.messages"), ContainsSubstring("use ingest.queued_events"));
  for (const std::string name :
       {"enable.auto.commit", "auto.commit.enable", "auto.commit.interval.ms", "enable.auto.offset.store",
        "offset.store.method", "offset.store.path", "isolation.level", "check.crcs", "allow.auto.create.topics",
        "enable.partition.eof", "enabled_events", "log.queue", "internal.termination.signal"}) {
    CHECK_THAT(refused(name), ContainsSubstring("this property may not be set: the daemon"));
  }
  for (const std::string name : {"rebalance_cb", "error_cb", "oauthbearer_token_refresh_cb",
                                 "ssl.certificate.verify_cb", "opaque", "default_topic_conf", "ssl_key"}) {
    CHECK_THAT(refused(name), ContainsSubstring("it takes a pointer"));
  }
}

TEST_CASE("values that librdkafka puts into a shell command are plain, or refused") {
  const auto loaded = [](const std::string& name, const std::string& value) {
    return problems(load(replaced(needed, "kafka: {", "kafka: {properties: {" + name + ": '" + value + "'}, ")));
  };
  for (const std::string name : {"sasl.kerberos.principal", "sasl.kerberos.keytab", "SASL.Kerberos.Keytab"}) {
    for (const std::string value : {"x; touch /tmp/p", "$(id)", "`id`", "a\"b", "a b", "a|b", "a\\b"}) {
      CHECK_THAT(loaded(name, value), ContainsSubstring("a shell command"));
    }
    CHECK(loaded(name, "/etc/inboxd/billing-1.keytab").empty());
    CHECK(loaded(name, "inboxd/host.example.org@EXAMPLE.ORG").empty());
  }
}

TEST_CASE("a login without a mechanism or a protocol is named") {
  using Map = std::map<std::string, std::string>;
  const Map login{{"sasl.username", "u"}, {"sasl.password", "p"}};
  Map all = login;
  CHECK(property_without_effect(all)->name == "sasl.password");
  CHECK_FALSE(missing_mechanism(all));  // it has no effect at all
  all["security.protocol"] = "SASL_PLAINTEXT";
  CHECK_FALSE(property_without_effect(all));
  CHECK_THAT(missing_mechanism(all).value(), ContainsSubstring("set sasl.mechanism"));
  all["sasl.mechanisms"] = "PLAIN";
  CHECK_FALSE(missing_mechanism(all));
  all["sasl.oauthbearer.token.file"] = "/token";
  CHECK_THAT(missing_mechanism(all).value(), ContainsSubstring("set sasl.mechanism to OAUTHBEARER"));
  all["sasl.mechanisms"] = "OAuthBearer";
  CHECK_FALSE(missing_mechanism(all));
  all["ssl.ca.location"] = "/ca";
  CHECK(property_without_effect(all)->name == "ssl.ca.location");
  all["security.protocol"] = "sasl_ssl";
  CHECK_FALSE(property_without_effect(all));
}

TEST_CASE("the deny-list ignores letter case") {
  CHECK(refusal_of_kafka_property("Plugin.Library.Paths").has_value());
}

TEST_CASE("the scope that librdkafka takes before a topic's properties is no way around it either") {
  for (const char* const name : {"topic.offset.store.method", "topic.offset.store.path", "topic.auto.commit.enable",
                                 "Topic.Auto.Offset.Reset", "topic.consume.callback.max.messages"}) {
    CHECK(refusal_of_kafka_property(name).has_value());
  }
  CHECK(refusal_of_kafka_property("topic.blacklist")->find("topics[].exclude") != std::string::npos);
  for (const char* const name : {"topic.metadata.refresh.interval.ms"}) {
    CHECK_FALSE(refusal_of_kafka_property(name).has_value());
  }
}

TEST_CASE("other properties pass this check, known to the client library or not") {
  for (const char* const name : {"security.protocol", "sasl.mechanism", "session.timeout.ms", "fetch.max.bytes",
                                 "partition.assignment.strategy", "debug", "no.such.property"}) {
    CHECK_FALSE(refusal_of_kafka_property(name).has_value());
  }
}

TEST_CASE("the client library's refusals are reported with their places, among all other problems") {
  FakeEnvironment environment;
  environment.kafka_library.refusal_of_name = [](const std::string& name) -> std::optional<std::string> {
    return name == "session.timeout.ms" ? std::nullopt : std::optional<std::string>{"no such property"};
  };
  environment.kafka_library.refusal_of_value = [](const std::string&, const std::string& value) {
    return std::optional<std::string>{"it does not take " + value};
  };
  const auto text = problems(load(replaced(needed, "kafka: {",
                                           "kafka: {properties: {sesion.timeout.ms: 1, session.timeout.ms: abc, "
                                           "sasl.passwort: {file: /s}, group.id: x}, bogus: 1, "),
                                  environment));
  CHECK_THAT(text, ContainsSubstring("inboxd.yaml:2:22: kafka.properties.sesion.timeout.ms: no such property\n"));
  CHECK_THAT(text, ContainsSubstring("inboxd.yaml:2:64: kafka.properties.session.timeout.ms: it does not take abc\n"));
  CHECK_THAT(text, ContainsSubstring("inboxd.yaml:2:69: kafka.properties.sasl.passwort: no such property\n"));
  CHECK_THAT(text, ContainsSubstring("kafka.properties.group.id: this property may not be set"));
  CHECK_THAT(text, ContainsSubstring("kafka.bogus"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 5);
}

TEST_CASE("the client library is not asked about refused properties, and gets no secret") {
  std::vector<std::string> asked;
  FakeEnvironment environment{{}, {{"/s", "hunter2"}}};
  environment.kafka_library.refusal_of_name = [&](const std::string& name) {
    asked.push_back(name);
    return std::optional<std::string>{};
  };
  environment.kafka_library.refusal_of_value = [&](const std::string& name, const std::string& value) {
    asked.push_back(name + "=" + value);
    return std::optional<std::string>{};
  };
  const auto file = replaced(needed, "kafka: {",
                             "kafka: {properties: {plugin.library.paths: x, sasl.kerberos.keytab: '$(id)', "
                             "sasl.password: {file: /s}, debug: all}, ");
  for (const bool offline : {false, true}) {
    asked.clear();
    environment.offline = offline;
    static_cast<void>(load(file, environment));
    CHECK(asked == std::vector<std::string>{"sasl.kerberos.keytab", "sasl.password", "sasl.password=", "debug",
                                            "debug=all"});
  }
}

TEST_CASE("nested properties are refused, because their names have dots") {
  CHECK_THAT(
      problems(load(replaced(needed, "kafka: {", "kafka: {properties: {security: {protocol: ssl}}, "))),
      ContainsSubstring("kafka.properties.security: a property is one value under a dotted name"));
}

TEST_CASE("kafka.instance_id is refused with the newer group protocol, in which brokers refuse a restarted process") {
  const std::string named = replaced(needed, "group: inboxd", "group: inboxd, instance_id: a");
  const auto with = [&](const std::string& protocol) {
    const std::string both = "instance_id: a, properties: {group.protocol: " + protocol + "}";
    return problems(load(replaced(named, "instance_id: a", both)));
  };
  CHECK_THAT(with("consumer"), ContainsSubstring("kafka.instance_id: not with group.protocol: consumer"));
  CHECK(with("classic").empty());
}
