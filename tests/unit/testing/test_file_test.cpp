#include "testing/test_file.hpp"

#include <catch2/catch_test_macros.hpp>

#include "testing/private_server.hpp"
#include "testing/sample_bytes.hpp"
#include "testing/test_settings.hpp"

using namespace inboxd;
using namespace inboxd::testing;

namespace {

config::Settings settings() {
  config::Settings out;
  out.topics.resize(3);
  out.topics[0].name = "orders";
  out.topics[1].name = "local";
  out.topics[1].source = config::Source::local;
  out.topics[2].name = "posted";
  out.topics[2].source = config::Source::local;
  out.topics[2].http.open = true;
  config::Handler book, notify;
  book.name = "book";
  book.plugin = "sql";
  notify.name = "notify";
  notify.plugin = "http";
  out.handlers = {book, notify};
  return out;
}

TestFile read(const std::string& text) { return read_test_text(text, "test.yaml", settings()); }

/// The problems of a single case with these keys.
std::string problems(const std::string& keys) {
  std::string out;
  for (const auto& each : read("cases:\n- {name: a, " + keys + "}\n").problems) out += each.text() + "\n";
  return out;
}

std::string problems_of_record(const std::string& keys) { return problems("records: [{topic: orders, " + keys + "}]"); }

}  // namespace

TEST_CASE("a record's value is text, YAML as JSON, base64, hex or null") {
  const auto file = read(R"(
cases:
  - name: a
    records:
      - {topic: orders, value: "plain"}
      - {topic: orders, value: {n: 12.50, text: "1", list: [true, ~, -1, 0x1, 2024-01-31]}}
      - {topic: orders, base64: "AP8="}
      - {topic: orders, hex: "00 FF"}
      - {topic: orders}
)");
  REQUIRE(file.problems.empty());
  const auto& records = file.cases.at(0).records;
  CHECK(records.at(0).value == "plain");
  CHECK(records.at(1).value == R"({"n":12.50,"text":"1","list":[true,null,-1,"0x1","2024-01-31"]})");
  CHECK(records.at(2).value == std::string("\0\xff", 2));
  CHECK(records.at(3).value == std::string("\0\xff", 2));
  CHECK(!records.at(4).value);
}

TEST_CASE("expected handlers are a list of those that are done, or a map of outcomes") {
  const auto file = read(R"(
cases:
  - name: a
    records:
      - {topic: orders, expect: {handlers: [book]}}
      - {topic: orders, expect: {handlers: {book: retry, notify: {outcome: dead, error: "422"}}}}
      - {topic: orders}
)");
  REQUIRE(file.problems.empty());
  const auto& records = file.cases.at(0).records;
  CHECK(records.at(0).expected.handlers->at("book").outcome == "done");
  CHECK(records.at(1).expected.handlers->at("book").outcome == "retry");
  CHECK(records.at(1).expected.handlers->at("notify").error == "422");
  CHECK(!records.at(2).expected.handlers);
}

TEST_CASE("a mistake in a file of tests names its line, its key and the remedy") {
  CHECK(read("case: []").problems.back().text() ==
        "test.yaml:1:1: case: unknown key; did you mean cases?; known are setup, cases");
  CHECK(read("case: []").problems.at(0).sentence.starts_with("missing"));
  CHECK(problems_of_record("value: x, hex: '00'").find("test.yaml:2:") == 0);
  CHECK(problems_of_record("value: x, hex: '00'").find("keep one of the two") != std::string::npos);
  CHECK(problems_of_record("hex: 0").find("records[0].hex: is no hex") != std::string::npos);
  CHECK(problems_of_record("base64: '*'").find("is no base64") != std::string::npos);
  CHECK(problems_of_record("offset: -1").find("must be a whole number from 0") != std::string::npos);
  CHECK(problems_of_record("timestamp: today").find("must be a time") != std::string::npos);
  CHECK(problems_of_record("file: /nowhere").find("the file /nowhere cannot be read") != std::string::npos);
  CHECK(problems_of_record("expect: {handlers: {boko: done}}").find("did you mean book?") != std::string::npos);
  CHECK(problems_of_record("expect: {handlers: {book: retri}}").find("did you mean retry?") != std::string::npos);
  CHECK(problems_of_record("expect: {quarantined: no_id, id: a}").find("has no event") != std::string::npos);
  CHECK(problems("records: [{topic: local}]").empty());
  CHECK(problems("records: [{topic: local, partition: 1}]").find("gets the next offset") != std::string::npos);
  CHECK(problems("records: [{topic: local, id: 1}]").find("must be a UUID") != std::string::npos);
  CHECK(problems("records: [{topic: posted, key: k}]").find("a request has headers and a value") != std::string::npos);
  CHECK(problems_of_record("type: t").find("an argument of inbox.enqueue") != std::string::npos);
  CHECK(problems("records: [{topic: other}]").find("no entry of topics") != std::string::npos);
  CHECK(problems("records: []").find("at least one entry") != std::string::npos);
  CHECK(problems("records: [{topic: orders}], answers: {book: {}}").find("no such handler `http`") !=
        std::string::npos);
  CHECK(problems("records: [{topic: orders}], expect: {rows: []}").find("need each other") != std::string::npos);
}

TEST_CASE("base64 and hex with a mistake are refused") {
  CHECK(bytes_of_base64("YQ==") == "a");
  CHECK(bytes_of_base64("YW Jj\n") == "abc");
  for (const char* const text : {"YQ=", "YQ", "Y===", "====", "YQ==YQ=="}) {
    INFO(text);
    CHECK(!bytes_of_base64(text));
  }
  CHECK(bytes_of_hex("0aFF") == "\x0a\xff");
  CHECK(!bytes_of_hex("0"));
  CHECK(!bytes_of_hex("0g"));
}

TEST_CASE("a configuration under test has no server of its own left") {
  config::Settings given = settings();
  given.database.url = "postgresql://app@production/app";
  given.database.password = config::Secret{"secret"};
  given.kafka.brokers = "production:9092";
  given.kafka.properties = {{"security.protocol", "ssl"}};
  given.tracing.endpoint = "http://collector";
  given.handlers[1].settings = {{"url", "https://service:8443/a?b=c"}, {"ca", "/ca.pem"}, {"signing_secret", ""}};
  config::Handler copy;
  copy.name = "copy";
  copy.plugin = "kafka";
  copy.expire_after = config::milliseconds{60'000};
  copy.settings = {{"properties", R"({"bootstrap.servers": "other:9092", "ssl.ca.location": "/ca", "linger.ms": 2})"}};
  given.handlers.push_back(copy);
  const auto url_for = [](const std::string& handler, const std::string& real) { return handler + " for " + real; };
  const auto out = settings_for_test(given, {"host=/tmp", "127.0.0.1:1", url_for});
  CHECK(out.database.url == "host=/tmp");
  CHECK(out.database.password.empty());
  CHECK(!out.has_brokers());
  CHECK(out.kafka.properties.empty());
  CHECK(out.admin.is_off());
  CHECK(out.tracing.is_off());
  CHECK(!out.outbox.relay);
  CHECK(out.handlers[1].settings == config::PluginSettings{{"url", "notify for https://service:8443/a?b=c"}});
  CHECK(out.handlers[2].settings.at("properties") == R"({"bootstrap.servers":"127.0.0.1:1","linger.ms":2})");
  CHECK(out.handlers[0].retry.base == std::chrono::hours{1});
  CHECK(out.handlers[2].retry.base == given.handlers[2].retry.base);  // expire_after depends on it
}

TEST_CASE("without PostgreSQL's programs a private server names the remedy") {
  const auto started = PrivateServer::start(40, {"/nowhere"});
  REQUIRE(!started);
  CHECK(started.problem().message.find("no PostgreSQL for the tests was found; pass --database URL") == 0);
}
