#include "operations/unsafe_connections.hpp"

#include <catch2/catch_test_macros.hpp>
#include <map>
#include <string>
#include <vector>

using namespace inboxd::operations;

namespace {

using Properties = std::map<std::string, std::string>;

/// The warnings of a file with these connections, a line each.
std::string said(const std::string& url, const std::string& brokers = "", const Properties& properties = {}) {
  inboxd::config::Settings settings;
  settings.database.url = url;
  settings.kafka.brokers = brokers;
  settings.kafka.properties = properties;
  std::string out;
  for (const Finding& finding : check_connections(settings)) {
    CHECK(finding.kind == Finding::Kind::warning);
    out += finding.subject + ": " + finding.message + "\n";
  }
  return out;
}

}  // namespace

TEST_CASE("brokers on another machine that a client talks to without TLS are named") {
  const auto named = [](const std::string& broker, const std::string& brokers, const Properties& properties = {}) {
    return said("", brokers, properties) == "brokers " + brokers + ": events and passwords travel to " + broker +
                                                " in plaintext: set security.protocol in kafka.properties to ssl or "
                                                "sasl_ssl\n";
  };
  CHECK(said("", "localhost:9092,127.0.0.1:9093, [::1]:9094").empty());
  CHECK(named("kafka:9092", "localhost:9092, kafka:9092"));
  CHECK(named("127.evil.example:9092", "127.evil.example:9092"));
  CHECK(named("PLAINTEXT://10.0.0.1:9092", "PLAINTEXT://10.0.0.1:9092"));
  CHECK(named("kafka:9092", "kafka:9092", {{"security.protocol", "sasl_plaintext"}}));
  CHECK(said("", "kafka:9092", {{"security.protocol", "SASL_SSL"}}).empty());
  CHECK(said("", "kafka:9092", {{"security.protocol", "ssl"}}).empty());
}

TEST_CASE("brokers on another machine that TLS does not verify are named, with the property") {
  Properties properties{{"security.protocol", "ssl"}, {"enable.ssl.certificate.verification", "False"}};
  CHECK(said("", "kafka:9093", properties) ==
        "brokers kafka:9093: with enable.ssl.certificate.verification: false a false broker in place of kafka:9093 is "
        "not noticed, and gets events and passwords: remove it from kafka.properties, and set ssl.ca.location to the "
        "certificate authority\n");
  CHECK(said("", "localhost:9093", properties).empty());
  properties["enable.ssl.certificate.verification"] = "true";
  CHECK(said("", "kafka:9093", properties).empty());
  properties["ssl.endpoint.identification.algorithm"] = "none";
  CHECK(said("", "kafka:9093", properties) ==
        "brokers kafka:9093: with ssl.endpoint.identification.algorithm: none a false broker in place of kafka:9093 is "
        "not noticed, and gets events and passwords: remove it from kafka.properties, and use the host name of the "
        "certificate for the broker\n");
}

TEST_CASE("a database on another machine is named unless the connection verifies it") {
  const std::string remedy = ": set sslmode=verify-full and sslrootcert in database.url\n";
  const auto unnoticed = [&](const std::string& mode, const std::string& also = "") {
    return "database: with sslmode=" + mode + " " + also + "a false server in place of db is not noticed" + remedy;
  };
  const std::string plaintext = "events and passwords may travel in plaintext, and ";
  CHECK(said("postgresql://app@db/app?sslmode=disable") ==
        "database: events and passwords travel to db in plaintext" + remedy);
  CHECK(said("postgresql://app@db/app") == unnoticed("prefer", plaintext));
  CHECK(said("host=db sslmode=allow") == unnoticed("allow", plaintext));
  CHECK(said("postgresql://app@localhost:1,db:2/app?sslmode=require") == unnoticed("require"));
  CHECK(said("postgresql://app@db/app?sslmode=verify-full").empty());
  CHECK(said("postgresql://app@db/app?sslrootcert=system").empty());
  for (const char* const near : {"postgresql://app@localhost/app", "postgresql:///app?host=/run/postgresql",
                                 "postgresql://[::1]/app", "host=db hostaddr=127.0.0.1", "dbname=app"}) {
    CAPTURE(near);
    CHECK(said(near).empty());
  }
}

TEST_CASE("check warns of http handlers, brokers of kafka handlers and a collector that are unsafe") {
  using inboxd::config::Handler;
  using inboxd::config::Secret;
  const auto warned = [](const std::string& plugin, const inboxd::config::PluginSettings& own) {
    inboxd::config::Settings settings;
    settings.kafka.brokers = "kafka:9092";
    settings.kafka.properties = {{"security.protocol", "ssl"}};
    Handler handler;
    handler.name = "first";
    handler.plugin = plugin;
    handler.settings = own;
    settings.handlers.push_back(handler);
    std::string out;
    for (const Finding& finding : check_connections(settings)) {
      CHECK(finding.kind == Finding::Kind::warning);
      out += finding.subject + ": " + finding.message;
    }
    return out;
  };
  const std::string https = " in plaintext: set settings.url to an https:// address";
  const std::string headers = R"({"Authorization":"Bearer x"})";
  CHECK(warned("http", {{"url", "http://crm:8080/in"}, {"headers", headers}}) ==
        "handler first: events and passwords travel to crm:8080" + https);
  CHECK(warned("http", {{"url", "http://crm/in?sig=hush"}}) ==
        "handler first: events and passwords travel to crm" + https);
  CHECK(warned("http", {{"url", "http://me:hush@crm/in"}}) ==
        "handler first: events and passwords travel to crm" + https);
  CHECK(warned("http", {{"url", "http://crm/in"}}).empty());
  CHECK(warned("http", {{"url", "https://crm/in"}, {"headers", headers}}).empty());
  CHECK(warned("http", {{"url", "http://[::1]:8080/in"}, {"headers", headers}}).empty());
  CHECK(warned("http", {{"url", "http://crm/in"}, {"headers", headers}, {"unix_socket", "/run/crm.sock"}}).empty());

  const std::string protocol = " in plaintext: set security.protocol in settings.properties to ssl or sasl_ssl";
  CHECK(warned("kafka", {{"properties", R"({"bootstrap.servers":"far:9092"})"}}) ==
        "handler first: events and passwords travel to far:9092" + protocol);
  CHECK(warned("kafka", {{"properties", R"({"security.protocol":"sasl_plaintext"})"}}) ==
        "handler first: events and passwords travel to kafka:9092" + protocol);
  CHECK(warned("kafka", {{"properties", R"({"bootstrap.servers":"far:9092","security.protocol":"ssl"})"}}).empty());
  CHECK(warned("kafka", {{"properties", R"({"linger.ms":2})"}}).empty());
  const std::string own = R"("enable.ssl.certificate.verification":false})",
                    far = R"({"bootstrap.servers":"far:9092","security.protocol":"ssl",)";
  const std::string trusts =
      "handler first: with enable.ssl.certificate.verification: false a false broker in place of ";
  CHECK(warned("kafka", {{"properties", "{" + own}}).starts_with(trusts + "kafka:9092"));
  CHECK(warned("kafka", {{"properties", far + own}}).starts_with(trusts + "far:9092"));
  CHECK(warned("kafka", {}).empty());

  inboxd::config::Settings traced;
  traced.tracing.endpoint = "http://collector:4318/v1/traces";
  traced.tracing.authorization = Secret{"hush"};
  const auto found = check_connections(traced);
  REQUIRE(found.size() == 1);
  CHECK(found[0].subject == "tracing.endpoint");
  CHECK(found[0].message == "spans and tracing.authorization travel to collector:4318 in plaintext: run a collector on "
                            "this machine that forwards with TLS");
  traced.tracing.endpoint = "http://127.0.0.1:4318/v1/traces";
  CHECK(check_connections(traced).empty());
}

TEST_CASE("check warns of tokens that travel in plaintext: of brokers, and to the admin port") {
  inboxd::config::Settings settings;
  settings.kafka.properties = {{"security.protocol", "sasl_ssl"},
                               {"sasl.oauthbearer.token.endpoint.url", "http://192.0.2.7/token"}};
  settings.admin.listen = "0.0.0.0:9470";
  CHECK(check_connections(settings).size() == 1);
  settings.admin.read_token = inboxd::config::Secret{"token-of-readers"};
  const auto found = check_connections(settings);
  REQUIRE(found.size() == 2);
  CHECK(found[0].subject == "admin.listen 0.0.0.0:9470");
  CHECK(found[1].message == "the client's secret and its tokens travel to 192.0.2.7 in plaintext: set it to an "
                            "https:// address");
  settings.kafka.properties["sasl.oauthbearer.token.endpoint.url"] = "HTTP://192.0.2.7/token";
  CHECK(check_connections(settings).size() == 2);
  settings.kafka.properties["sasl.oauthbearer.token.endpoint.url"] = "https://192.0.2.7/token";
  settings.admin.tls.certificate = "/etc/inboxd/tls.crt";
  CHECK(check_connections(settings).empty());
}
