// Topics in Avro.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/formats/avro_fixture.hpp"
#include "support/topic_reader.hpp"
#include "support/wait.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("orders in Avro reach a table by handler sql, and the stored payload stays as it came") {
  AvroFixture fixture;
  const auto daemon = fixture.start();
  fixture.produce_orders(3);
  fixture.wait_rows(3);
  fixture.produce_orders(2'000, 3);
  fixture.wait_rows(2'003);
  CHECK(fixture.app.number("select count(distinct n) from app.orders where n between 0 and 2002 and price = 5.00 "
                           "and subject = 'c-' || n % 7") == 2'003);
  CHECK(fixture.database.text("select encode(payload, 'hex') from inbox.event where source_id = 'order-1'") ==
        "0000000102" "0e6f726465722d31" "0206632d31" "02" "0401f4");
  CHECK(fixture.registry.requests("/schemas/ids/258") == 1);
}

TEST_CASE("orders with an unknown schema go to quarantine, and a retry stores them once the registry knows it") {
  AvroFixture fixture;
  const auto daemon = fixture.start();
  fixture.produce_orders(2, 0, 300);
  fixture.produce_orders(1, 2);
  fixture.wait_rows(1);
  CHECK(fixture.quarantined() == 2);
  CHECK(fixture.database.text("select distinct detail from inbox.quarantine") ==
        "schema 300 of the value is unknown to the registry");
  CHECK_THAT(command(fixture.config, {"quarantine", "list"}).out, ContainsSubstring("schema 300"));
  fixture.registry.add_schema(300, schema);
  const auto retried = command(fixture.config, {"quarantine", "retry", "--topic", fixture.topic, "--yes"});
  INFO(retried.err);
  CHECK_THAT(retried.out, ContainsSubstring("2 became events"));
  fixture.wait_rows(3);
  CHECK(fixture.quarantined() == 0);
}

TEST_CASE("quarantined records whose JSON is together too large for one transaction are stored by several") {
  AvroFixture fixture;
  const auto daemon = fixture.start();
  std::vector<Message> messages;
  for (int i = 0; i < 30; ++i) {
    Message message;
    message.topic = fixture.topic;
    message.payload = order(300, "order-" + std::to_string(i), i) + text(std::string(600'000, '\x01'));  // \u0001 each
    messages.push_back(std::move(message));
  }
  fixture.kafka.produce(messages);
  wait_until("all are in quarantine", [&] { return fixture.quarantined() == 30; });
  std::string with_note = schema;
  with_note.insert(with_note.rfind(']'), R"(, {"name":"note","type":"string"})");
  fixture.registry.add_schema(300, with_note);
  const auto retried = command(fixture.config, {"quarantine", "retry", "--topic", fixture.topic, "--yes"});
  INFO(retried.err);
  CHECK_THAT(retried.out, ContainsSubstring("30 became events"));
  fixture.wait_rows(30);
  CHECK(fixture.database.number("select count(distinct xmin::text) from inbox.event") > 1);
}

TEST_CASE("orders that were stored before the topic had a format are decoded by the replay of their dead letters") {
  AvroFixture fixture;
  const auto with_format = fixture.config.topics;
  fixture.config.topics = {"{name: " + fixture.topic + ", on_missing_id: position}"};
  {
    const auto daemon = fixture.start();
    fixture.produce_orders(30);
    fixture.app.wait_for("all are dead",
                         "select count(*) from inbox.dead_letter where error_class = 'sql.not_json'", 30);
  }
  fixture.config.topics = with_format;
  const auto daemon = fixture.start();
  const auto replayed = command(fixture.config, {"dead", "replay", "--handler", "orders", "--yes"});
  INFO(replayed.out << replayed.err);
  CHECK(replayed.status == ExitStatus{0, 0});
  fixture.wait_rows(30);
  CHECK(fixture.app.number("select count(distinct n) from app.orders where price = 5.00") == 30);
  CHECK(fixture.database.number("select count(*) from inbox.event where decoded is null") == 0);
}

TEST_CASE("an order that does not fit its schema goes to quarantine with schema, subject and reason") {
  AvroFixture fixture;
  const auto daemon = fixture.start();
  auto payload = order(258, "order-0", 0);
  payload.pop_back();
  Message message;
  message.topic = fixture.topic;
  message.payload = payload;
  fixture.kafka.produce({message});
  fixture.produce_orders(1);
  fixture.wait_rows(1);
  CHECK(fixture.database.text("select detail from inbox.quarantine") ==
        "the value does not fit schema 258 (subject orders-value): at /price: the bytes end within the value");
}

TEST_CASE("while the registry is away its topic waits, another topic flows, and nothing is lost") {
  AvroFixture fixture;
  const auto other = fixture.kafka.create_topic(1);
  fixture.config.topics.push_back("{name: " + other + "}");
  fixture.registry.stop();
  const auto daemon = fixture.start();
  fixture.produce_orders(5);
  wait_until("the topic waits, and says for what",
             [&] { return fixture.halted_reason().find(fixture.registry.url()) != std::string::npos; });
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring(fixture.registry.url() + " does not answer"));
  daemon->wait_log("kind=consumer.halted");
  fixture.kafka.produce({event_message(other, "3c000000-0000-4000-8000-000000000001", R"({"n":7,"price":1})")});
  fixture.wait_rows(1);
  CHECK(fixture.quarantined() == 0);

  fixture.registry.start();
  fixture.wait_rows(6);
  wait_until("the reason is gone", [&] { return fixture.halted_reason().empty(); });
  CHECK(fixture.quarantined() == 0);
}

TEST_CASE("a registry that refuses the user holds the topic, and the reason names both") {
  AvroFixture fixture;
  fixture.registry.answer_all(401);
  const auto daemon = fixture.start();
  fixture.produce_orders(1);
  wait_until("the topic waits", [&] {
    return fixture.halted_reason().find(fixture.registry.url() + " refuses requests without a user (status 401)") !=
           std::string::npos;
  });
  fixture.registry.answer_all(0);
  fixture.wait_rows(1);
}

TEST_CASE("stored orders are handled by another instance that cannot reach the registry") {
  AvroFixture fixture;
  auto daemon = fixture.start();
  const auto paused = command(fixture.config, {"handlers", "pause", "orders", "--yes", "--reason", "a test"});
  CHECK(paused.status == ExitStatus{0, 0});
  fixture.produce_orders(200);
  fixture.wait_stored(200);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.registry.stop();
  daemon = fixture.start();
  CHECK(command(fixture.config, {"handlers", "resume", "orders", "--yes"}).status == ExitStatus{0, 0});
  fixture.wait_rows(200);
  CHECK(fixture.app.number("select count(distinct n) from app.orders") == 200);
  fixture.registry.start();  // for `inboxd verify`
}

TEST_CASE("handler kafka copies the payload as it came, or with `payload: decoded` as JSON") {
  AvroFixture fixture;
  const std::string raw = fixture.kafka.create_topic(1), decoded = fixture.kafka.create_topic(1);
  for (const std::string& topic : {raw, decoded}) {
    HandlerText copies;
    copies.name = topic == raw ? "raw" : "decoded";
    copies.plugin = "kafka";
    copies.settings = {{"topic", topic}, {"payload", topic == raw ? "raw" : "decoded"}};
    fixture.config.handlers.push_back(copies);
  }
  const auto daemon = fixture.start();
  fixture.produce_orders(1, 3);
  const auto copy_in = [&](const std::string& topic) {
    wait_until("the copy is there", [&] { return fixture.kafka.ends(topic)[0] == 1; });
    return read_topic(fixture.config.brokers, topic, fixture.kafka.ends(topic)).at(0).payload.value_or("");
  };
  CHECK(copy_in(raw) == order(258, "order-3", 3));
  CHECK(copy_in(decoded) == R"({"id":"order-3","customer":"c-3","n":3,"price":"5.00"})");
}

TEST_CASE("explain shows the JSON of a record in Avro, and that it waits for a registry") {
  AvroFixture fixture;
  fixture.produce_orders(1, 3);
  const std::vector<std::string> words{"explain", "--topic", fixture.topic, "--last", "1"};
  const auto explained = command(fixture.config, words);
  CHECK_THAT(explained.out, ContainsSubstring("order-3"));
  CHECK_THAT(explained.out, ContainsSubstring("the value was decoded to JSON"));
  CHECK_THAT(explained.out, ContainsSubstring("\"price\""));
  fixture.registry.stop();
  CHECK_THAT(command(fixture.config, words).out, ContainsSubstring("waits: schema 258 of the value"));
  fixture.registry.start();
}

TEST_CASE("an edit of a dead order's headers keeps its decoded body") {
  AvroFixture fixture;
  fixture.app.run("create table app.open (yes int)");
  fixture.config.handlers[0] = fixture.app.statement(
      "orders", "insert into app.orders select event_id, subject, (body->>'n')::bigint / (select count(*) from "
                "app.open), 1 from events", {"retry: {max_attempts: 1}"});
  const auto daemon = fixture.start();
  fixture.produce_orders(1, 3);
  fixture.database.wait_for("the order is dead", "select count(*) from inbox.dead_letter where state = 'dead'", 1);
  const std::string id = fixture.database.text("select event_id from inbox.dead_letter");
  fixture.app.run("insert into app.open values (1)");
  const auto edited = command(fixture.config, {"dead", "edit", id, "--handler", "orders", "--header", "a=b", "--yes"});
  INFO(edited.err << edited.out);
  CHECK(edited.status == ExitStatus{0, 0});
  const auto replayed = command(fixture.config, {"dead", "replay", "--handler", "orders", "--yes"});
  INFO(replayed.err);
  fixture.wait_rows(1);
  CHECK(fixture.app.number("select n from app.orders") == 3);
}

TEST_CASE("a key in Avro gives the id, whatever schema wrote it") {
  AvroFixture fixture;
  fixture.registry.add_schema(1, R"("long")", "orders-key");
  fixture.registry.add_schema(2, R"({"type":"long"})", "orders-key");
  fixture.config.topics = {"{name: " + fixture.topic + ", envelope: custom, custom: {id: key}, key: {format: avro, " +
                           "registry: {url: " + fixture.registry.url() + "}}}"};
  const auto daemon = fixture.start();
  Message message;
  message.topic = fixture.topic;
  message.payload = R"({"n":1,"price":2})";
  for (const char id : {'\1', '\2'}) {
    message.key = std::string{0, 0, 0, 0, id} + number(42);
    fixture.kafka.produce({message});
  }
  fixture.database.wait_for("the second is a conflict", "select count(*) from inbox.quarantine", 1);
  CHECK(fixture.database.text("select string_agg(source_id, ' ') from inbox.event") == "42");
}
