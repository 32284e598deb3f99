#include "operations/plaintext.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

using namespace inboxd::operations;

TEST_CASE("brokers on another machine that a client talks to without TLS are named") {
  CHECK(plaintext_broker("localhost:9092,127.0.0.1:9093, [::1]:9094", {}).empty());
  CHECK(plaintext_broker("localhost:9092, kafka:9092", {}) == "kafka:9092");
  CHECK(plaintext_broker("127.evil.example:9092", {}) == "127.evil.example:9092");
  CHECK(plaintext_broker("PLAINTEXT://10.0.0.1:9092", {}) == "PLAINTEXT://10.0.0.1:9092");
  CHECK(plaintext_broker("kafka:9092", {{"security.protocol", "sasl_plaintext"}}) == "kafka:9092");
  CHECK(plaintext_broker("kafka:9092", {{"security.protocol", "SASL_SSL"}}).empty());
  CHECK(plaintext_broker("kafka:9092", {{"security.protocol", "ssl"}}).empty());
}

TEST_CASE("check warns of http handlers, brokers of kafka handlers and a collector that are reached in plaintext") {
  using inboxd::config::Handler;
  using inboxd::config::Secret;
  const auto said = [](const std::string& plugin, const inboxd::config::PluginSettings& own) {
    inboxd::config::Settings settings;
    settings.kafka.brokers = "kafka:9092";
    settings.kafka.properties = {{"security.protocol", "ssl"}};
    Handler handler;
    handler.name = "first";
    handler.plugin = plugin;
    handler.settings = own;
    settings.handlers.push_back(handler);
    std::string out;
    for (const Finding& finding : check_plaintext(settings)) {
      CHECK(finding.kind == Finding::Kind::warning);
      out += finding.subject + ": " + finding.message;
    }
    return out;
  };
  const std::string https = " in plaintext: set settings.url to an https:// address";
  const std::string headers = R"({"Authorization":"Bearer x"})";
  CHECK(said("http", {{"url", "http://crm:8080/in"}, {"headers", headers}}) ==
        "handler first: events and passwords travel to crm:8080" + https);
  CHECK(said("http", {{"url", "http://crm/in?sig=hush"}}) ==
        "handler first: events and passwords travel to crm" + https);
  CHECK(said("http", {{"url", "http://me:hush@crm/in"}}) ==
        "handler first: events and passwords travel to crm" + https);
  CHECK(said("http", {{"url", "http://crm/in"}}).empty());
  CHECK(said("http", {{"url", "https://crm/in"}, {"headers", headers}}).empty());
  CHECK(said("http", {{"url", "http://[::1]:8080/in"}, {"headers", headers}}).empty());
  CHECK(said("http", {{"url", "http://crm/in"}, {"headers", headers}, {"unix_socket", "/run/crm.sock"}}).empty());

  const std::string protocol = " in plaintext: set security.protocol in settings.properties to ssl or sasl_ssl";
  CHECK(said("kafka", {{"properties", R"({"bootstrap.servers":"far:9092"})"}}) ==
        "handler first: events and passwords travel to far:9092" + protocol);
  CHECK(said("kafka", {{"properties", R"({"security.protocol":"sasl_plaintext"})"}}) ==
        "handler first: events and passwords travel to kafka:9092" + protocol);
  CHECK(said("kafka", {{"properties", R"({"bootstrap.servers":"far:9092","security.protocol":"ssl"})"}}).empty());
  CHECK(said("kafka", {{"properties", R"({"linger.ms":2})"}}).empty());
  CHECK(said("kafka", {}).empty());

  inboxd::config::Settings traced;
  traced.tracing.endpoint = "http://collector:4318/v1/traces";
  traced.tracing.authorization = Secret{"hush"};
  const auto found = check_plaintext(traced);
  REQUIRE(found.size() == 1);
  CHECK(found[0].subject == "tracing.endpoint");
  CHECK(found[0].message == "spans and tracing.authorization travel to collector:4318 in plaintext: run a collector on "
                            "this machine that forwards with TLS");
  traced.tracing.endpoint = "http://127.0.0.1:4318/v1/traces";
  CHECK(check_plaintext(traced).empty());
}

TEST_CASE("check warns of tokens that travel in plaintext: of brokers, and to the admin port") {
  inboxd::config::Settings settings;
  settings.kafka.properties = {{"security.protocol", "sasl_ssl"},
                               {"sasl.oauthbearer.token.endpoint.url", "http://192.0.2.7/token"}};
  settings.admin.listen = "0.0.0.0:9470";
  CHECK(check_plaintext(settings).size() == 1);
  settings.admin.read_token = inboxd::config::Secret{"token-of-readers"};
  const auto found = check_plaintext(settings);
  REQUIRE(found.size() == 2);
  CHECK(found[0].subject == "admin.listen 0.0.0.0:9470");
  CHECK(found[1].message == "the client's secret and its tokens travel to 192.0.2.7 in plaintext: set it to an "
                            "https:// address");
  settings.kafka.properties["sasl.oauthbearer.token.endpoint.url"] = "HTTP://192.0.2.7/token";
  CHECK(check_plaintext(settings).size() == 2);
  settings.kafka.properties["sasl.oauthbearer.token.endpoint.url"] = "https://192.0.2.7/token";
  settings.admin.tls.certificate = "/etc/inboxd/tls.crt";
  CHECK(check_plaintext(settings).empty());
}
