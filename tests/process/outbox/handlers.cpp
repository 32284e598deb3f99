#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>
#include <thread>

#include "process/outbox/outbox_fixture.hpp"
#include "process/support/application.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A handler publishes a message for each event of the first topic to a second topic. The same inbox reads both.
struct ChainFixture : OutboxFixture {
  explicit ChainFixture(int partitions = 2) : OutboxFixture{partitions}, sink{kafka.create_topic(partitions)} {
    config.topics.push_back("{name: " + sink + "}");
  }
  HandlerText by_sql() {
    HandlerText handler;
    handler.name = "chain";
    handler.plugin = "sql";
    handler.topics = {topic};
    handler.more = {"events_per_call: 100", "mode: sequential"};
    handler.settings["statement"] = yaml_text("select " + database.schema() + ".publish('" + sink +
                                              "', convert_to(key, 'UTF8'), payload, jsonb_build_object('cause', "
                                              "event_id)) from events");
    return handler;
  }
  HandlerText by_plugin() {
    HandlerText handler;
    handler.name = "chain";
    handler.plugin = plugin_file("publisher");
    handler.topics = {topic};
    handler.settings["to"] = sink;
    return handler;
  }
  /// Events of the first topic without a message in the second topic, and messages beyond the first.
  std::int64_t lost() {
    return database.number("select count(*) from inbox.event e join inbox.shard s using (shard_id) "
                           "where s.topic = $1 and not exists (" +
                               messages() + " and inbox.headers_of(m.headers) ->> 'cause' = e.event_id::text)",
                           {topic, sink});
  }
  std::int64_t doubled() {
    return database.number("select count(*) - count(distinct inbox.headers_of(m.headers) ->> 'cause') from (" +
                               messages() + ") m where $1 <> $2",
                           {topic, sink});
  }
  void wait_chained(std::int64_t events, milliseconds within = patience) {
    database.wait_for("messages of all events arrive",
                      "select count(*) from inbox.event e join inbox.shard s using (shard_id) where s.topic = '" +
                          sink + "'",
                      events, within);
  }

  std::string sink;

 private:
  static std::string messages() {
    return "select m.* from inbox.event m join inbox.shard t on t.shard_id = m.shard_id where t.topic = $2";
  }
};

}  // namespace

TEST_CASE("a sql handler publishes a message per event, in its transaction and in order, none lost or doubled") {
  ChainFixture fixture;
  fixture.config.handlers = {fixture.by_sql()};
  fixture.produce(5'000);
  const auto daemon = fixture.start();
  fixture.wait_chained(5'000);
  CHECK(fixture.lost() == 0);
  CHECK(fixture.doubled() == 0);
  fixture.wait_empty();
}

TEST_CASE("a plugin that needs only the outbox publishes in its transaction; a failed event leaves no message") {
  ChainFixture fixture;
  HandlerText handler = fixture.by_plugin();
  handler.more = {"events_per_call: 50"};
  fixture.config.handlers = {handler};
  fixture.config.sections["database"] = "handler_role: pg_read_all_settings";  // without any right on the inbox
  std::vector<Message> messages;
  for (int i = 0; i < 1'000; ++i) {
    messages.push_back(event_message(fixture.topic, fixture.database.text("select gen_random_uuid()"),
                                     i % 100 == 7 ? "{\"fail\": 1}" : "{\"n\": 1}"));
    messages.back().key = "k" + std::to_string(i % 10);
  }
  fixture.kafka.produce(messages);
  const auto daemon = fixture.start();
  fixture.wait_chained(990);
  fixture.database.wait_for("the others are dead", "select count(*) from inbox.dead_letter", 10);
  fixture.wait_empty();
  CHECK(fixture.lost() == 10);
  CHECK(fixture.doubled() == 0);
  CHECK(fixture.database.number("select count(*) from inbox.event where event_type = 'Published'") == 990);
}

TEST_CASE("a message that is published again for the same event has the same id") {
  const bool is_plugin = GENERATE(true, false);
  CAPTURE(is_plugin);
  std::vector<std::string> ids;
  for (int inbox = 0; inbox < 2; ++inbox) {  // the second inbox knows nothing of the first, as after a restore
    ChainFixture fixture;
    HandlerText handler = is_plugin ? fixture.by_plugin() : fixture.by_sql();
    handler.more = {"events_per_call: " + std::to_string(inbox == 0 ? 50 : 7)};
    if (!is_plugin) {
      const std::string schema = fixture.database.schema();
      handler.settings["statement"] =
          yaml_text("select " + schema + ".publish('" + fixture.sink + "', convert_to(key, 'UTF8'), payload, id => " +
                    schema + ".message_id(event_id, 'chain')) from events");
    }
    fixture.config.handlers = {handler};
    std::vector<Message> messages;
    for (int i = 0; i < 100; ++i) {
      messages.push_back(event_message(fixture.topic, "0b000000-0000-4000-8000-000000000" + std::to_string(100 + i)));
    }
    fixture.kafka.produce(messages);
    const auto daemon = fixture.start();
    fixture.wait_chained(100);
    ids.push_back(fixture.database.text("select string_agg(event_id::text, ' ' order by event_id) from inbox.events "
                                        "where topic = '" + fixture.sink + "'"));
  }
  CHECK(ids[0] == ids[1]);
}

// fault: a dead letter sent back
TEST_CASE("a dead letter in a topic has the identity of its event, and a single header id") {
  DaemonFixture dead{1};
  DaemonFixture fixture{1};
  fixture.config.handlers[0].plugin = "sql";
  fixture.config.handlers[0].settings = {{"statement", "select 1 / (attempt - attempt) from events"}};
  fixture.config.handlers[0].more = {"retry: {max_attempts: 1}", "dead_letters: {topic: " + dead.topic + "}"};
  const auto daemon = fixture.start();
  const auto reader = dead.start();
  fixture.kafka.produce({event_message(fixture.topic, "4d47e190-0402-4048-bc2c-89dd54343c01"),
                         event_message(fixture.topic, "text-id")});
  dead.wait_stored(2);
  const std::string ids = "select string_agg(event_id || ' ' || source_id, ', ' order by event_id) from inbox.events";
  CHECK(dead.database.text(ids) == fixture.database.text(ids));
  CHECK(dead.database.number("select count(*) from inbox.events where headers->>'id' in "
                             "('text-id', '4d47e190-0402-4048-bc2c-89dd54343c01') and headers ? 'inboxd-outbox-id'") ==
        2);
}

// fault: relay killed between publish and delete
TEST_CASE("killing the daemon at random points loses and doubles no message, and keeps their order") {
  ChainFixture fixture;
  fixture.config.handlers = {fixture.by_sql()};
  std::mt19937 random{Catch::getSeed()};
  const int kills = is_long() ? 100 : 12;
  int produced = 0;
  for (int kill = 0; kill < kills; ++kill) {
    DaemonProcess daemon{fixture.config};
    daemon.wait_ready();
    std::vector<Message> messages;
    for (int i = 0; i < 2'000; ++i, ++produced) {
      messages.push_back(event_message(fixture.topic, fixture.database.text("select gen_random_uuid()"),
                                       "{\"n\": " + std::to_string(produced) + "}"));
      messages.back().key = "k" + std::to_string(produced % 10);
    }
    fixture.kafka.produce(messages);
    // Not a wait: the moment of the kill is random.
    std::this_thread::sleep_for(milliseconds{std::uniform_int_distribution<int>{0, 1'200}(random)});
    daemon.kill();
  }
  const auto last = fixture.start();
  fixture.wait_chained(produced, milliseconds{is_long() ? 300'000 : 120'000});
  fixture.wait_empty();
  CHECK(fixture.lost() == 0);
  CHECK(fixture.doubled() == 0);
  CHECK(fixture.out_of_order() == 0);
}

TEST_CASE("a dead letter is published with the event's content and the headers of Spring Kafka") {
  DaemonFixture dead{1};  // another inbox: the event's own inbox has its identity already
  ChainFixture fixture{1};
  HandlerText handler = fixture.by_plugin();
  handler.more = {"dead_letters: {topic: " + dead.topic + "}"};
  fixture.config.handlers = {handler};
  Message message = event_message(fixture.topic, fixture.database.text("select gen_random_uuid()"), "{\"fail\": 1}");
  message.key = "k";
  message.headers.emplace_back("mine", "kept");
  message.timestamp_ms = 1'700'000'000'123;
  fixture.kafka.produce({event_message(fixture.topic, fixture.database.text("select gen_random_uuid()")), message});
  const auto daemon = fixture.start();
  const auto reader = dead.start();
  dead.wait_stored(1);
  const auto letter = [&](const std::string& what) {
    return dead.database.text("select " + what + " from (select m.*, inbox.headers_of(m.headers) as h "
                                 "from inbox.event m) m where h ? 'kafka_dlt-original-topic'");
  };
  CHECK(letter("convert_from(key, 'UTF8') || ' ' || convert_from(payload, 'UTF8') || ' ' || (h ->> 'mine')") ==
        "k {\"fail\": 1} kept");
  CHECK(letter("h ->> 'kafka_dlt-original-topic'") == fixture.topic);
  const auto packed = [&](const std::string& name, const std::string& value) {
    CAPTURE(name, value);
    CHECK(letter("position(inbox.pack_header('kafka_dlt-" + name + "', " + value + ") in headers) > 0") == "t");
  };
  INFO(letter("(h - 'id')::text"));
  packed("original-partition", "int4send(0)");
  packed("original-offset", "int8send(1)");
  packed("original-timestamp", "int8send(1700000000123)");
  packed("original-timestamp-type", "'CreateTime'");
  packed("original-consumer-group", "'" + fixture.config.group + "'");
  packed("exception-fqcn", "'test'");
  packed("exception-message", "'as it was told'");
  fixture.wait_empty();
}

TEST_CASE("the topic of dead letters survives a failover, and an instance that does not know it yet") {
  ChainFixture fixture{1};
  fixture.config.handlers = {fixture.by_plugin()};
  auto older = fixture.config;
  fixture.config.handlers[0].more = {"dead_letters: {topic: " + fixture.sink + "}"};
  const auto daemon = fixture.start();
  const std::string topics = "select count(*) from inbox.dead_letter_topic";
  DaemonProcess other{older};
  other.wait_ready();
  CHECK(fixture.database.number(topics) == 1);
  fixture.database.run("delete from inbox.dead_letter_topic");
  fixture.database.wait_for("it is set again", topics, 1);
}
