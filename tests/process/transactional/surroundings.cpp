// The sql handler behind a pooler, under a role without rights, and with payloads of every kind.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/pgbouncer.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("through PgBouncer in transaction mode each row is there once") {
  Stage stage;
  Application app{stage.database};
  app.create_book();
  const PgBouncer pooler{stage.config.url};
  stage.config.url = pooler.url();
  stage.config.sections["database"] = "prepare: false";
  stage.config.handlers = {app.statement("set", books_each, {"events_per_call: 50", "concurrency: 2"})};
  auto one = stage.start();
  const auto two = stage.start();
  Load load{stage, 1500};
  load.wait_for_more(1500);
  one->kill();
  load.wait_for_more(500);
  one = stage.start();
  load.wait_for_more(1000);
  load.finish();
  const Tally tally = stage.wait_done("set");
  WARN(tally.text());
  CHECK(tally.is_perfect());
  CHECK(app.booked() == tally.produced);
  CHECK(app.booked_events() == tally.produced);
}

TEST_CASE("a role without rights on the inbox is enough for a statement and for a function") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  stage.migrate();
  const std::string role = app.schema() + "_role";
  app.run("create role " + role + "; grant usage on schema " + app.schema() + " to " + role +
          "; grant insert on app.booked to " + role);
  app.run(
      "create function app.on_order(m inbox.message) returns void language sql as "
      "$$ insert into app.booked (event_id, n) values (m.event_id, -1) $$");
  app.run("create table app.seen (who text); grant insert on app.seen to " + role);
  stage.config.sections["database"] = "handler_role: " + role;
  stage.config.handlers = {
      app.statement("set", books_each, {"events_per_call: 100"}),
      app.function("function", "app.on_order", {"events_per_call: 100"}),
      app.statement("who", "insert into app.seen select current_user from events"),
      app.statement("curious", "select count(*) from inbox.event, events", {"retry: {max_attempts: 1}"})};
  CHECK(stage.database.number("select (has_schema_privilege($1, $2, 'usage'))::int", {role, stage.database.schema()}) ==
        0);
  // Whoever looks into the inbox under that role is refused when the daemon starts.
  const auto refused = command(stage.config, {"check"});
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.out, ContainsSubstring("permission denied for table event"));
  stage.config.handlers.pop_back();
  {
    const auto daemon = stage.start();
    stage.produce(300);
    CHECK(stage.wait_done("set").is_perfect());
    CHECK(stage.wait_done("function").is_perfect());
    CHECK(stage.wait_done("who").is_perfect());
    // The plans are thrown away and made again, under the role.
    app.run("analyze app.booked; analyze app.seen; alter table app.booked add column later int");
    stage.produce(300);
    CHECK(stage.wait_done("set").is_perfect());
    CHECK(stage.wait_done("function").is_perfect());
  }
  CHECK(app.booked() == 1200);
  CHECK(app.booked_events() == 600);
  CHECK(stage.database.number("select count(*) from inbox.failures") == 0);
  CHECK(app.text("select string_agg(distinct who, ',') from app.seen") == role);
  app.run("drop owned by " + role + "; drop role " + role);
}

TEST_CASE("payloads that are no JSON, or none that PostgreSQL takes, are null as body and never an error") {
  Stage stage{1};
  Application app{stage.database};
  app.run("create table app.seen (subject text, key text, bytes bigint, body jsonb, headers jsonb)");
  stage.config.topics = {"{name: " + stage.topic + ", payload_limit: 16MiB}"};
  stage.config.handlers = {app.statement("set",
                                         "insert into app.seen select event_type, key, octet_length(payload), case "
                                         "when octet_length(payload) < 100 then body "
                                         "else to_jsonb(jsonb_typeof(body)) end, headers from events",
                                         {"events_per_call: 100", "retry: {max_attempts: 1}"})};
  std::vector<Message> messages;
  int made = 0;
  const auto add = [&](const std::string& type, std::optional<std::string> payload) {
    messages.push_back(
        event_message(stage.topic, "0e000000-0000-4000-8000-" + std::to_string(100'000'000'000 + made++), "", type));
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
  stage.kafka.produce(messages);
  const auto daemon = stage.start();
  app.wait_for("all are seen", "select count(*) from app.seen", made);
  CHECK(stage.database.number("select count(*) from inbox.failures") == 0);
  CHECK(app.text("select string_agg(subject, ' ' order by subject) from app.seen where body is not null") ==
        "good null number");
  CHECK(app.text("select body->>'s' from app.seen where subject = 'good'") == "\xF0\x9F\x98\x80");
  CHECK(app.text("select headers->>'trace' from app.seen where subject = 'null'") == "t1");
  CHECK(app.number("select count(*) from app.seen where key is null") == 1);
  CHECK(app.number("select bytes from app.seen where subject = 'deep'") == 200'000);
}

TEST_CASE("8 MB of JSON is read in place") {
  Stage stage{1};
  Application app{stage.database};
  app.run("create table app.seen (n int, size bigint)");
  const std::string topic = stage.kafka.create_topic(1, "", {{"max.message.bytes", "20000000"}});
  stage.config.topics = {"{name: " + topic + ", payload_limit: 16MiB}"};
  stage.config.handlers = {
      app.statement("set", "insert into app.seen select (body->>'n')::int, length(body->>'text') from events",
                    {"events_per_call: 10"})};
  stage.config.handlers[0].topics = {topic};
  std::vector<Message> messages;
  for (int i = 0; i < 3; ++i) {
    messages.push_back(
        event_message(topic, "0f000000-0000-4000-8000-00000000000" + std::to_string(i),
                      "{\"n\": " + std::to_string(i) + ", \"text\": \"" + std::string(8 << 20, 'x') + "\"}"));
  }
  stage.kafka.produce(messages);
  const auto daemon = stage.start();
  app.wait_for("all are seen", "select count(*) from app.seen where size = 8388608", 3);
  CHECK(stage.database.number("select count(*) from inbox.failures") == 0);
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
