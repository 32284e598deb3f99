#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/outbox/outbox_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("published messages arrive once each, in order per key, with key, payload, headers and their id") {
  OutboxFixture fixture;
  const auto daemon = fixture.start();
  fixture.publish(1'000);
  fixture.wait_received(1'000);
  fixture.wait_empty();
  CHECK(fixture.records() == 1'000);
  CHECK(fixture.out_of_order() == 0);
  const std::string id = fixture.database.text(
      R"(select inbox.publish($1, '\x00ff'::bytea, '\x0001'::bytea, )"
      R"('{"eventType": "Paid", "none": null, "raw": {"base64": "AP8="}}'))",
      {fixture.topic});
  fixture.wait_received(1'001);
  CHECK(fixture.database.text("select event_id || ' ' || event_type || ' ' || encode(key, 'hex') || ' ' || "
                              "encode(payload, 'hex') from inbox.event where key = '\\x00ff'") ==
        id + " Paid 00ff 0001");
  CHECK(fixture.database.text("select inbox.headers_of(headers) - 'id' from inbox.event where key = '\\x00ff'") ==
        R"({"raw": {"base64": "AP8="}, "none": null, "eventType": "Paid"})");
  fixture.database.run("select inbox.publish($1, null::bytea, null)", {fixture.topic});
  fixture.wait_received(1'002);
  CHECK(fixture.database.number("select count(*) from inbox.event where key is null and payload is null") == 1);
}

TEST_CASE(
    "of a rolled-back transaction nothing arrives, and of a transaction that commits late everything does",
    "[alone]") {
  OutboxFixture fixture{1};
  const auto daemon = fixture.start();
  Session late{fixture.database.url(), fixture.database.schema()};
  late.run("begin; select inbox.publish('" + fixture.topic + "', 'late', '{\"n\": 1}')");
  fixture.database.run("begin; select inbox.publish('" + fixture.topic +
                       "', 'gone', '{\"n\": 2}'); savepoint a; select inbox.publish('" + fixture.topic +
                       "', 'gone', '{\"n\": 2}'); rollback to a; rollback");
  fixture.publish(100);
  fixture.wait_received(100);
  fixture.wait_empty();
  late.run("commit");
  fixture.wait_received(101, milliseconds{5'000});
  fixture.publish(100, 100);
  fixture.wait_received(201);
  fixture.wait_empty();
  CHECK(fixture.records() == 201);
  CHECK(fixture.database.number("select count(*) from inbox.event where convert_from(key, 'UTF8') = 'gone'") == 0);
}

TEST_CASE("messages of a session keep their order, also if the first transaction was open for long") {
  OutboxFixture fixture{1};
  const auto daemon = fixture.start();
  Session late{fixture.database.url(), fixture.database.schema()};
  for (int round = 0; round < 3; ++round) {
    const std::string first = std::to_string(round * 2), second = std::to_string(round * 2 + 1);
    late.run("begin; select inbox.publish('" + fixture.topic + "', 'late', '{\"n\": " + first + "}')");
    // Not a wait: the transaction is open for longer than gaps are probed at each read.
    const auto until = monotonic_ms() + 1'500;
    for (int i = 0; monotonic_ms() < until; ++i) {
      fixture.database.run("select inbox.publish($1, 'other', '{\"n\": 0}')", {fixture.topic});
    }
    late.run("commit; select inbox.publish('" + fixture.topic + "', 'late', '{\"n\": " + second + "}')");
    fixture.database.wait_for("both arrive",
                              "select count(*) from inbox.event where convert_from(key, 'UTF8') = 'late'",
                              (round + 1) * 2);
  }
  CHECK(fixture.out_of_order() == 0);
}

TEST_CASE("a transaction that stays open for long slows the relay down by less than half") {
  OutboxFixture fixture{1};
  const auto daemon = fixture.start();
  const int waves = is_long() ? 40 : 8;
  const int messages = 20'000;
  const auto wave = [&](int number) {
    const auto began = monotonic_ms();
    fixture.publish(messages, number * messages);
    fixture.wait_empty();
    return monotonic_ms() - began;
  };
  const auto first = std::min(wave(0), wave(1));
  // Keeps every deleted row, and a gap that no later message can close.
  Session old{fixture.database.url(), fixture.database.schema()};
  old.run("begin isolation level repeatable read; select inbox.publish('" + fixture.topic + "', 'old', '{\"n\": 1}')");
  for (int number = 2; number < waves; ++number) wave(number);
  const auto last = std::min(wave(waves), wave(waves + 1));
  INFO(first << " ms for the first messages, " << last << " ms for the last");
  CHECK(last < first * 2 + 200);
  old.run("commit");
  fixture.wait_received((waves + 2) * messages + 1);
  CHECK(fixture.records() == (waves + 2) * messages + 1);
}

TEST_CASE("publish refuses a message that could never be sent, with the remedy") {
  OutboxFixture fixture;
  const auto refused = [&](const std::string& topic, const std::string& payload, const std::string& headers = "null") {
    try {
      fixture.database.run("select inbox.publish(" + topic + ", '\\x00'::bytea, " + payload + ", " + headers + ")");
    } catch (const std::runtime_error& error) {
      return std::string{error.what()};
    }
    return std::string{"accepted"};
  };
  CHECK_THAT(refused("null", "null"), ContainsSubstring("the topic is empty; name the Kafka topic"));
  CHECK_THAT(refused("''", "null"), ContainsSubstring("the topic is empty"));
  CHECK_THAT(refused("'a b'", "null"), ContainsSubstring("\"a b\" is no topic name"));
  CHECK_THAT(refused("'..'", "null"), ContainsSubstring("is no topic name"));
  CHECK_THAT(refused("repeat('a', 250)", "null"), ContainsSubstring("is no topic name"));
  CHECK_THAT(refused("'orders'", "convert_to(repeat('x', 1000001), 'UTF8')"),
             ContainsSubstring("outbox.message_bytes allows 1000000"));
  CHECK_THAT(refused("'orders'", "null", "'[1]'"), ContainsSubstring("headers: a JSON array"));
  CHECK_THAT(refused("'orders'", "null", "'{\"a\": [1]}'"), ContainsSubstring("a value is a list or an object"));
  CHECK(refused("'orders'", "convert_to(repeat('x', 900000), 'UTF8')", "'{\"a\": 1}'") == "accepted");
}
