// The shipped handler `kafka`: copies of events in another topic, which a second daemon reads.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/daemon_fixture.hpp"
#include "process/support/keyed_events.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Events of `topic` are copied into the topic of `copies`.
struct KafkaFixture : DaemonFixture {
  explicit KafkaFixture(std::vector<std::string> more = {}, int partitions = 1) : DaemonFixture{partitions} {
    auto& handler = config.handlers[0];
    handler.plugin = "kafka";
    handler.settings = {{"topic", copies.topic}};
    handler.more = {"retry: {max_attempts: 3, backoff: fixed, base: 50ms}"};
    handler.more.insert(handler.more.end(), more.begin(), more.end());
  }
  std::int64_t records(const std::string& of) {
    std::int64_t out = 0;
    for (const auto& [partition, end] : kafka.ends(of)) out += end;
    return out;
  }
  std::string failures() {
    return database.text("select coalesce(string_agg(error_class || ': ' || message, ', '), '') from inbox.failures");
  }
  std::string states(int events) {
    database.wait_for("all are finished", "select count(*) from inbox.deliveries where finished_at is not null",
                      events);
    return database.text("select string_agg(state, ' ' order by state) from inbox.deliveries");
  }

  DaemonFixture copies{2};
};

}  // namespace

TEST_CASE("a copy has the event's key, payload and headers, and says where it comes from") {
  KafkaFixture fixture;
  const bool keeps = GENERATE(true, false);
  fixture.set("headers", keeps ? "keep" : "none");
  const auto daemon = fixture.start();
  const auto reader = fixture.copies.start();
  auto tombstone = event_message(fixture.topic, "0b000000-0000-4000-8000-000000000002");
  tombstone.payload = std::nullopt;
  auto event = event_message(fixture.topic, "0b000000-0000-4000-8000-000000000001", "\xff\x01", "Placed");
  event.key = "k\xff";
  event.headers.emplace_back("tenant", "acme");
  fixture.kafka.produce({event, tombstone});
  CHECK(fixture.states(2) == "done done");
  fixture.copies.wait_stored(2);
  const std::string where = " from inbox.event where event_id = '0b000000-0000-4000-8000-00000000000";
  auto& copies = fixture.copies.database;
  CHECK(copies.text("select encode(key, 'hex') || ' ' || encode(payload, 'hex') || ' ' || event_type" + where + "1'") ==
        "6bff ff01 Placed");
  CHECK(copies.number("select count(*)" + where + "2' and payload is null") == 1);
  const auto headers = copies.text("select inbox.headers_of(headers)::text" + where + "1'");
  CHECK_THAT(headers, ContainsSubstring(R"("inboxd-topic": ")" + fixture.topic + "\""));
  CHECK_THAT(headers, ContainsSubstring(R"("inboxd-offset": "0")"));
  CHECK_THAT(headers, ContainsSubstring(R"("inboxd-partition": "0")"));
  CHECK((headers.find(R"("tenant": "acme")") != std::string::npos) == keeps);
}

// fault: a copy in another topic
TEST_CASE("a copy of a copy keeps the event's identity, whatever it was made from") {
  KafkaFixture fixture;
  DaemonFixture last{1};
  auto& handler = fixture.copies.config.handlers[0];
  handler.plugin = "kafka";
  handler.settings = {{"topic", last.topic}};
  const auto first = fixture.start();
  const auto second = fixture.copies.start();
  const auto third = last.start();
  fixture.kafka.produce(
      {event_message(fixture.topic, "4d47e190-0402-4048-bc2c-89dd54343c01"),
       event_message(fixture.topic, "text-id"),
       {.topic = fixture.topic,
        .key = "k",
        .payload = "{}",
        .headers = {{"ce_specversion", "1.0"}, {"ce_id", "ce1"}, {"ce_source", "/s"}, {"ce_type", "T"}}}});
  last.wait_stored(3);
  const std::string ids = "select string_agg(event_id || ' ' || source_id, ', ' order by event_id) from inbox.events";
  CHECK(last.database.text(ids) == fixture.database.text(ids));
  CHECK(fixture.copies.database.text(ids) == fixture.database.text(ids));
}

TEST_CASE("a topic may depend on the event; a missing topic is tried again, an invalid topic makes a dead letter") {
  KafkaFixture fixture;
  const std::string prefix = random_name("by-type");
  fixture.kafka.create_topic(1, prefix + ".Placed");
  fixture.set("topic", "'" + prefix + ".{type}'");
  fixture.config.handlers[0].more[0] = "retry: {max_attempts: 50, backoff: fixed, base: 200ms}";
  const auto daemon = fixture.start();
  fixture.produce(5, "Placed");
  fixture.produce(1, "Paid");
  fixture.produce(1, "no/topic");
  fixture.database.wait_for("one is dead", "select count(*) from inbox.dead_letters", 1);
  CHECK_THAT(fixture.failures(), ContainsSubstring("kafka.invalid_topic: a topic's name has only letters"));
  wait_until("it was tried", [&] { return fixture.failures().find("kafka.unknown_topic") != std::string::npos; });
  fixture.kafka.create_topic(1, prefix + ".Paid");
  CHECK(fixture.states(7) == "dead done done done done done done");
  CHECK(fixture.records(prefix + ".Placed") == 5);
  CHECK(fixture.records(prefix + ".Paid") == 1);
}

TEST_CASE("a record that is larger than its topic allows is a dead letter, and no other of its batch") {
  KafkaFixture fixture{{"events_per_call: 50"}};
  const auto narrow = fixture.kafka.create_topic(1, "", {{"max.message.bytes", "3000"}});
  fixture.set("topic", narrow);
  const auto daemon = fixture.start();
  std::vector<Message> all;
  for (int i = 0; i < 30; ++i) {
    all.push_back(event_message(fixture.topic, "0b000000-0000-4000-8000-0000000000" + std::to_string(10 + i),
                                "\"" + std::string(i == 15 ? 5'000 : 300, static_cast<char>('a' + i)) + "\""));
    all.back().key = "k" + std::to_string(i % 4);
  }
  fixture.kafka.produce(all);
  CHECK(fixture.states(30).starts_with("dead done done"));
  CHECK(fixture.database.number("select count(*) from inbox.dead_letters") == 1);
  CHECK_THAT(fixture.failures(), ContainsSubstring("kafka.too_large"));
}

TEST_CASE("copies of a key stay in log order, through failures and kills of the daemon") {
  KafkaFixture fixture{{"mode: sequential", "events_per_call: 10"}, 4};
  KeyedEvents events{fixture};
  auto daemon = fixture.start();
  const auto reader = fixture.copies.start();
  for (int round = 0; round < 4; ++round) {
    events.produce(1'000, [&](int i) {
      const std::string key = "key" + std::to_string(i % 40);
      return KeyedEvents::Made{key, "Happened", "{\"n\": " + std::to_string(events.events_of(key)) + "}"};
    });
    const auto wanted = round * 1'000 + 200;
    wait_until("some are copied", [&] { return fixture.records(fixture.copies.topic) > wanted; });
    daemon->kill();
    daemon = fixture.start();
  }
  CHECK(fixture.wait_done().is_perfect());
  fixture.copies.wait_stored(4'000);
  // The reader absorbs repetitions, so the order is that of the first copies.
  CHECK(
      fixture.copies.database.number(
          "select count(*) from (select n <> lag(n, 1, -1) over (partition by key order by \"offset\") + 1 as is_wrong "
          "from (select key, \"offset\", (convert_from(payload, 'UTF8')::jsonb ->> 'n')::int as n from inbox.event) e) "
          "t where is_wrong") == 0);
}

TEST_CASE("settings of kafka that would break its promise are refused with the reason") {
  const auto refused = [](const std::string& name, const std::string& value) {
    KafkaFixture wrong;
    wrong.set(name, value);
    return command(wrong.config, {"check"}).out;
  };
  CHECK_THAT(refused("properties", "{transactional.id: mine}"),
             ContainsSubstring("transactional.id may not be set: an event is recorded as done in PostgreSQL"));
  CHECK_THAT(refused("properties", "{acks: 1}"), ContainsSubstring("it is always all"));
  CHECK_THAT(refused("properties", "{linger.ms: 500}"), ContainsSubstring("linger.ms must be 0 to 5"));
  CHECK_THAT(refused("properties", "{no.such.property: 1}"), ContainsSubstring("librdkafka has no property"));
  const auto secret = refused("properties", "{security.protocol: hunter2}");
  CHECK_THAT(secret, ContainsSubstring("refuses the value of security.protocol") && !ContainsSubstring("hunter2"));
  CHECK_THAT(refused("topic", "a/b"), ContainsSubstring("only letters, digits and . _ -"));
  CHECK_THAT(refused("topic", "'{nothing}'"), ContainsSubstring("a placeholder is one of"));
}

TEST_CASE(
    "a topic that leads back to its events' own pauses the handler; of one event's own topic that event is dead") {
  KafkaFixture fixture;
  const bool is_fixed = GENERATE(true, false);
  fixture.set("topic", is_fixed ? fixture.topic : "'{topic}'");
  const auto daemon = fixture.start();
  fixture.produce(1);
  fixture.database.wait_for("it is paused or dead",
                            is_fixed ? "select count(*) from inbox.handler where paused_reason like 'kafka.circle%'"
                                     : "select count(*) from inbox.dead_letters where error_class = 'kafka.circle'",
                            1);
  CHECK(fixture.records(fixture.topic) == 1);
}

TEST_CASE("a topic that may not be written pauses the handler with the brokers' reason, until it is resumed") {
  KafkaFixture fixture;
  fixture.kafka.deny_seeing(fixture.copies.topic, true);
  const auto daemon = fixture.start();
  fixture.produce(1);
  fixture.database.wait_for("the handler is paused",
                            "select count(*) from inbox.handler where paused_reason like 'kafka.denied%'", 1);
  CHECK(fixture.failures().empty());
  fixture.kafka.deny_seeing(fixture.copies.topic, false);
  CHECK(command(fixture.config, {"handlers", "resume", "recorder", "--yes"}).status == ExitStatus{0, 0});
  CHECK(fixture.wait_done().is_perfect());
}

// fault: daemon's clock wrong by an hour
TEST_CASE("with the daemon's clock two days ahead, its records and messages have the database's time") {
  KafkaFixture fixture{{"events_per_call: 50"}};
  fixture.config.sections["outbox"] = "lease: 2s, retry: 1s";
  DaemonProcess daemon{fixture.config,
                       {"run", "--migrate"},
                       {{"LD_PRELOAD", plugin_file("clock_off")}, {"INBOXD_TEST_CLOCK_OFF", "172800"}}};
  daemon.wait_ready();
  fixture.produce(200);
  const std::string published = fixture.kafka.create_topic(1);
  fixture.database.run(
      "select inbox.publish($1, 'k' || i % 10, jsonb_build_object('n', i)) from generate_series(1, 20) i", {published});
  CHECK(fixture.wait_done().is_perfect());
  fixture.database.wait_for("all are sent",
                            "select (select count(*) from inbox.outbox) + (select count(*) from inbox.outbox_waiting)",
                            0, milliseconds{90'000});  // each refusal costs a producer
  CHECK(fixture.records(fixture.copies.topic) >= 200);
  CHECK(fixture.records(published) >= 20);
  CHECK(fixture.failures().empty());
  CHECK(daemon.stop() == ExitStatus{0, 0});
}
