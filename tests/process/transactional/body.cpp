#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::string null_row = "select count(*) from app.applied where n is null";

/// A payload that PostgreSQL refuses as JSON, and the expected error.
struct InvalidPayload {
  std::string payload;
  std::string reason;
};
std::vector<InvalidPayload> invalid_payloads() {
  return {{"not json", "its syntax is wrong"},
          {"", "its syntax is wrong"},
          {R"({"n": "\u0000"})", "holds the character \\u0000"},
          {R"({"n": "\ud800"})", "lone surrogate"},
          {R"({"n": 1e131072})", "a number in it is out of range"},
          {"{\"n\": \"\xff\"}", "it is not UTF-8 text"},
          {std::string("\0\0\x01\x02\x03\x02hi", 8),
           "schema registry's schema (66051); set topics[].value.format, then dead replay"},
          {std::string("{\"n\": 2}\0, \"m\": 1}", 18), "it is not UTF-8 text"},
          {std::string(100'000, '['), "it is nested too deeply"}};
}

void produce(DaemonFixture& fixture, const std::vector<std::optional<std::string>>& payloads) {
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (const auto& payload : payloads) {
    ids.push_back(fixture.database.text("select gen_random_uuid()"));
    Message message = event_message(fixture.topic, ids.back());
    message.payload = payload;
    messages.push_back(std::move(message));
  }
  fixture.kafka.produce(messages);
  fixture.note(ids);
}

/// The message of a finding of `status`; empty: it has none of that kind.
std::string finding(const ConfigText& config, const std::string& kind) {
  const auto status = command(config, {"status", "--json"});
  const auto document = nlohmann::json::parse(status.out, nullptr, false);
  REQUIRE(document.is_object());
  for (const auto& each : document.at("findings")) {
    if (each.at("kind") == kind) return each.at("message");
  }
  return "";
}

}  // namespace

// fault: hostile JSON (NUL escape, lone surrogate, 100,000 deep, 1e131072)
TEST_CASE("a payload that is not JSON is dead at once with the reason, and delays no other event") {
  const int events_per_call = GENERATE(1, 40, 500);
  CAPTURE(events_per_call);
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.config.handlers = {
      app.statement("set", insert_each, {"concurrency: 1", "events_per_call: " + std::to_string(events_per_call)})};
  std::vector<std::optional<std::string>> payloads;
  for (const InvalidPayload& invalid : invalid_payloads()) {
    for (int i = 0; i < 20; ++i) payloads.emplace_back("{\"n\": 1}");
    payloads.emplace_back(invalid.payload);
  }
  for (int i = 0; i < 300; ++i) payloads.emplace_back("{\"n\": 1}");
  payloads.emplace_back(std::nullopt);
  const auto invalid = static_cast<std::int64_t>(invalid_payloads().size());
  const auto all = static_cast<std::int64_t>(payloads.size());
  produce(fixture, payloads);
  const auto daemon = fixture.start();
  app.wait_for("the others are applied", "select count(*) from app.applied", all - invalid);
  fixture.database.wait_for("these are dead", "select count(*) from inbox.dead_letters", invalid);
  CHECK(app.applied_events() == all - invalid);
  CHECK(app.number(null_row) == 1);  // the tombstone's row
  CHECK(fixture.database.text("select distinct error_class || ' ' || attempts from inbox.dead_letters") ==
        "sql.not_json 1");
  CHECK(fixture.database.number("select count(*) from inbox.failures") == invalid);
  const std::string reasons = fixture.database.text("select string_agg(last_error, ' | ') from inbox.dead_letters");
  for (const InvalidPayload& each : invalid_payloads()) CHECK_THAT(reasons, ContainsSubstring(each.reason));
}

// fault: valid JSON behind a byte order mark or a registry prefix, with 30-digit numbers, repeated keys
TEST_CASE("JSON after a byte order mark or a schema registry's prefix is the body, in calls of every size") {
  const int events_per_call = GENERATE(1, 500);
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.config.handlers = {
      app.statement("set", insert_each, {"concurrency: 1", "events_per_call: " + std::to_string(events_per_call)})};
  const std::string mark = "\xEF\xBB\xBF", prefix{"\0\0\0\0\x0C", 5};
  std::vector<std::optional<std::string>> payloads;
  for (int i = 0; i < 100; ++i) {
    for (const std::string& before : {mark, prefix, prefix + mark, std::string{}}) {
      payloads.emplace_back(before + "{\"n\": 7}");
    }
  }
  produce(fixture, payloads);
  const auto daemon = fixture.start();
  app.wait_for("all are applied", "select count(*) from app.applied where n = 7", 400);
}

TEST_CASE("a value that a converter has wrapped gives its inner JSON as body, in calls of every size") {
  const int events_per_call = GENERATE(1, 500);
  const bool is_wanted = GENERATE(true, false);
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.config.topics = {"{name: " + fixture.topic + (is_wanted ? "}" : ", unwrap: none}")};
  fixture.config.handlers = {
      app.statement("set", insert_each, {"concurrency: 1", "events_per_call: " + std::to_string(events_per_call)})};
  std::vector<std::optional<std::string>> payloads;
  for (int i = 0; i < 100; ++i) {
    payloads.emplace_back(R"("{\"n\": 7}")");
    payloads.emplace_back(R"({"schema":{"type":"struct"},"payload":{"n": 7}})");
    payloads.emplace_back(R"({"schema":{"type":"string"},"payload":"{\"n\": 7}"})");
  }
  produce(fixture, payloads);
  const auto daemon = fixture.start();
  app.wait_for("all are applied", "select count(*) from app.applied", 300);
  CHECK(app.number("select count(*) from app.applied where n = 7") == (is_wanted ? 300 : 0));
}

TEST_CASE("a statement sees the bytes of a key, also of a key that is no text") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.run("create table app.keys (key text, key_bytes bytea)");
  fixture.config.handlers = {app.statement("set", "insert into app.keys select key, key_bytes from events")};
  std::vector<Message> messages{event_message(fixture.topic, "4d47e190-0402-4048-bc2c-89dd54343c01"),
                                event_message(fixture.topic, "4d47e190-0402-4048-bc2c-89dd54343c02")};
  messages[0].key = std::string{"\0\x30\x39", 3};
  messages[1].key = "abc";
  fixture.kafka.produce(messages);
  const auto daemon = fixture.start();
  app.wait_for("both are applied", "select count(*) from app.keys", 2);
  CHECK(app.text("select string_agg(coalesce(key, 'none') || ' ' || encode(key_bytes, 'hex'), ', ' order by key) "
                 "from app.keys") == "abc 616263, none 003039");
}

TEST_CASE("with body: optional, or a statement without body, any payload is accepted") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  HandlerText optional = app.statement("optional", insert_each);
  optional.settings["body"] = "optional";
  fixture.config.handlers = {
      optional, app.statement("bytes",
                              "insert into app.applied (event_id, n) select event_id, length(payload) from "
                              "events")};
  produce(fixture, {"not json", "{\"n\": 5}"});
  const auto daemon = fixture.start();
  CHECK(fixture.wait_done("optional").done == 2);
  CHECK(fixture.wait_done("bytes").done == 2);
  CHECK(app.text("select string_agg(coalesce(n::text, 'null'), ' ' order by n) from app.applied") == "5 8 8 null");
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
}

TEST_CASE("a function's message must be JSON, too, unless body is optional") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.migrate();
  app.run(
      "create function app.on_order(m inbox.message) returns void language sql as "
      "$$ insert into app.applied values (m.event_id, (m.body->>'n')::bigint) $$");
  HandlerText optional = app.function("optional", "app.on_order");
  optional.settings["body"] = "optional";
  fixture.config.handlers = {app.function("strict", "app.on_order"), optional};
  produce(fixture, {"not json", "{\"n\": 5}"});
  const auto daemon = fixture.start();
  CHECK(fixture.wait_done("optional").done == 2);
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letters", 1);
  CHECK(fixture.database.text("select handler || ' ' || error_class from inbox.dead_letters") == "strict sql.not_json");
  app.wait_for("the other is applied by both", "select count(*) from app.applied where n = 5", 2);
  CHECK(app.number(null_row) == 1);
}

TEST_CASE("a statement whose paths are null in 100 events in a row is a remark of status, until an event has a value") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  // The first call reads its events in the database; later calls are small, so their events are sent.
  fixture.config.handlers = {app.statement("set", insert_each, {"mode: single", "events_per_call: 200"})};
  // A tombstone has no body to look into, and says nothing.
  std::vector<std::optional<std::string>> payloads(100, R"({"N": 1, "m": {"n": 2}})");
  payloads[50] = std::nullopt;
  payloads[60] = "[1]";
  produce(fixture, payloads);
  const auto daemon = fixture.start();
  app.wait_for("99 events and a tombstone are applied", "select count(*) from app.applied", 100);
  fixture.database.wait_for("the heartbeat counts them",
                            "select (activity->0->>'without_value')::bigint from inbox.instance", 99);
  CHECK(finding(fixture.config, "body_paths_null").empty());
  produce(fixture, {R"({"n": null})"});
  wait_until("status has the remark", [&] { return !finding(fixture.config, "body_paths_null").empty(); });
  CHECK(finding(fixture.config, "body_paths_null") ==
        "the last 100 events of handler set have no value at any path that its statement reads (body->>'n')");
  produce(fixture, {R"({"n": 0})"});
  wait_until("the remark is gone", [&] { return finding(fixture.config, "body_paths_null").empty(); });
  CHECK(app.number(null_row) == 101);
}
