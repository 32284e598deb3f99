#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/pgbouncer.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

// fault: PgBouncer in transaction mode
TEST_CASE("through PgBouncer in transaction mode each row is written once") {
  DaemonFixture fixture;
  Application app{fixture.database};
  app.create_table();
  const PgBouncer pooler{fixture.config.url};
  fixture.config.url = pooler.url();
  fixture.config.sections["database"] = "prepare: false";
  fixture.config.handlers = {app.statement("set", insert_each, {"events_per_call: 50", "concurrency: 2"})};
  auto one = fixture.start();
  const auto two = fixture.start();
  BackgroundProducer producer{fixture, 1500};
  producer.wait_for_more(1500);
  one->kill();
  producer.wait_for_more(500);
  one = fixture.start();
  producer.wait_for_more(1000);
  producer.finish();
  const EventCounts counts = fixture.wait_done("set");
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(app.applied() == counts.produced);
  CHECK(app.applied_events() == counts.produced);
}

TEST_CASE("a role without rights on the inbox can run a statement and a function") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.migrate();
  const std::string role = app.schema() + "_role";
  app.run("create role " + role + "; grant usage on schema " + app.schema() + " to " + role +
          "; grant insert on app.applied to " + role);
  app.run(
      "create function app.on_order(m inbox.message) returns void language sql as "
      "$$ insert into app.applied (event_id, n) values (m.event_id, -1) $$");
  app.run("create table app.seen (who text); grant insert on app.seen to " + role);
  fixture.config.sections["database"] = "handler_role: " + role;
  fixture.config.handlers = {
      app.statement("set", insert_each, {"events_per_call: 100"}),
      app.function("function", "app.on_order", {"events_per_call: 100"}),
      app.statement("who", "insert into app.seen select current_user from events"),
      app.statement("curious", "select count(*) from inbox.event, events", {"retry: {max_attempts: 1}"})};
  CHECK(fixture.database.number("select (has_schema_privilege($1, $2, 'usage'))::int",
                                {role, fixture.database.schema()}) == 0);
  // A handler that reads the inbox under that role is refused at the start.
  const auto refused = command(fixture.config, {"check"});
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.out, ContainsSubstring("permission denied for table event"));
  fixture.config.handlers.pop_back();
  {
    const auto daemon = fixture.start();
    fixture.produce(300);
    CHECK(fixture.wait_done("set").is_perfect());
    CHECK(fixture.wait_done("function").is_perfect());
    CHECK(fixture.wait_done("who").is_perfect());
    // The plans are discarded and made again, under the role.
    app.run("analyze app.applied; analyze app.seen; alter table app.applied add column later int");
    fixture.produce(300);
    CHECK(fixture.wait_done("set").is_perfect());
    CHECK(fixture.wait_done("function").is_perfect());
  }
  CHECK(app.applied() == 1200);
  CHECK(app.applied_events() == 600);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(app.text("select string_agg(distinct who, ',') from app.seen") == role);
  app.run("drop owned by " + role + "; drop role " + role);
}

// fault: hostile JSON (NUL escape, lone surrogate, 100,000 deep, 1e131072)
TEST_CASE("where body is optional, payloads that are not valid JSON for PostgreSQL have a null body") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.run("create table app.seen (subject text, key text, bytes bigint, body jsonb, headers jsonb)");
  fixture.config.topics = {"{name: " + fixture.topic + ", payload_limit: 16MiB}"};
  fixture.config.handlers = {app.statement("set",
                                           "insert into app.seen select event_type, key, octet_length(payload), case "
                                           "when octet_length(payload) < 100 then body "
                                           "else to_jsonb(jsonb_typeof(body)) end, headers from events",
                                           {"events_per_call: 100", "retry: {max_attempts: 1}"})};
  fixture.config.handlers[0].settings["body"] = "optional";
  std::vector<Message> messages;
  int made = 0;
  const auto add = [&](const std::string& type, std::optional<std::string> payload) {
    messages.push_back(
        event_message(fixture.topic, "0e000000-0000-4000-8000-" + std::to_string(100'000'000'000 + made++), "", type));
    messages.back().payload = std::move(payload);
    messages.back().key = "k";
  };
  add("tombstone", std::nullopt);
  add("empty", "");
  add("text", "no json");
  add("invalid", "\xff\xfe");
  add("nul", "\"a\\u0000b\"");
  add("surrogate", "\"\\ud800\"");
  add("absurd", "1e131072");
  add("open", "{\"n\": 1");
  add("deep", std::string(100'000, '[') + std::string(100'000, ']'));
  add("good", "{\"n\": 1, \"s\": \"\\ud83d\\ude00\"}");
  add("number", "17");
  add("null", "null");
  messages.back().key = "\xff";
  messages.back().headers.emplace_back("trace", "t1");
  fixture.kafka.produce(messages);
  const auto daemon = fixture.start();
  app.wait_for("all are seen", "select count(*) from app.seen", made);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(app.text("select string_agg(subject, ' ' order by subject) from app.seen where body is not null") ==
        "good null number");
  CHECK(app.text("select body->>'s' from app.seen where subject = 'good'") == "\xF0\x9F\x98\x80");
  CHECK(app.text("select headers->>'trace' from app.seen where subject = 'null'") == "t1");
  CHECK(app.number("select count(*) from app.seen where key is null") == 1);
  CHECK(app.number("select bytes from app.seen where subject = 'deep'") == 200'000);
}

TEST_CASE("a payload of 8 MB of JSON is read in place") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.run("create table app.seen (n int, size bigint)");
  const std::string topic = fixture.kafka.create_topic(1, "", {{"max.message.bytes", "20000000"}});
  fixture.config.topics = {"{name: " + topic + ", payload_limit: 16MiB}"};
  fixture.config.handlers = {
      app.statement("set", "insert into app.seen select (body->>'n')::int, length(body->>'text') from events",
                    {"events_per_call: 10"})};
  fixture.config.handlers[0].topics = {topic};
  std::vector<Message> messages;
  for (int i = 0; i < 3; ++i) {
    messages.push_back(
        event_message(topic, "0f000000-0000-4000-8000-00000000000" + std::to_string(i),
                      "{\"n\": " + std::to_string(i) + ", \"text\": \"" + std::string(8 << 20, 'x') + "\"}"));
  }
  fixture.kafka.produce(messages);
  const auto daemon = fixture.start();
  app.wait_for("all are seen", "select count(*) from app.seen where size = 8388608", 3);
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
