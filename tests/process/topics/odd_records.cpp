// Records without values, keys or ids, and with absurd times.
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// The fixture's only topic, whose broker takes any timestamp.
std::string read_topic_of_any_time(DaemonFixture& fixture) {
  const std::string any{"9223372036854775807"};
  auto name = fixture.kafka.create_topic(
      1, "", {{"message.timestamp.after.max.ms", any}, {"message.timestamp.before.max.ms", any}});
  fixture.config.topics = {"{name: " + name + "}"};
  return name;
}

}  // namespace

// fault: tombstone
// fault: empty value
// fault: null key
// fault: repeated or null headers
TEST_CASE("tombstones, empty values, null keys and odd headers are stored unchanged") {
  DaemonFixture fixture{1};
  const auto daemon = fixture.start();
  const auto id = [](int n) { return "77770000-0000-4000-8000-00000000000" + std::to_string(n); };
  std::vector<Message> messages;
  for (int i = 0; i < 4; ++i) messages.push_back(event_message(fixture.topic, id(i)));
  messages[0].payload = std::nullopt;
  messages[1].payload = "";
  messages[2].key = std::nullopt;
  messages[3].key = "";
  messages[3].headers.push_back({"twice", "one"});
  messages[3].headers.push_back({"twice", "two"});
  messages[3].headers.push_back({"null", std::nullopt});
  messages[3].headers.push_back({"raw", std::string{"\xff\0\x01", 3}});
  fixture.kafka.produce(messages);
  for (int i = 0; i < 4; ++i) fixture.note({id(i)});
  fixture.wait_stored(4);
  const auto described = [&](int n) {
    return fixture.database.text(
        "select (payload is null) || ' ' || coalesce(length(payload), -1) || ' ' || (key is null) "
        "|| ' ' || coalesce(length(key), -1) from inbox.event where event_id = $1",
        {id(n)});
  };
  CHECK(described(0) == "true -1 false 36");
  CHECK(described(1) == "false 0 false 36");
  CHECK(described(2) == "false 2 true -1");
  CHECK(described(3) == "false 2 false 0");
  CHECK(fixture.database.text("select headers - 'id' - 'eventType' from inbox.events where event_id = $1", {id(3)}) ==
        R"({"raw": {"base64": "/wAB"}, "null": null, "twice": "two"})");
}

// fault: no id
// fault: id with NUL
// fault: id with bad UTF-8
// fault: id too long
// fault: payload over the limit
TEST_CASE("records without an id, with a bad id or too large go to quarantine, raw; the rest is stored") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + ", payload_limit: 1KiB}"};
  const auto daemon = fixture.start();
  fixture.produce(5);
  fixture.kafka.produce({Message{.topic = fixture.topic, .key = "k", .payload = "nobody knows me"}});
  fixture.kafka.produce({event_message(fixture.topic, "99990000-0000-4000-8000-000000000000", std::string(5000, 'x'))});
  for (const std::string& id : {std::string{"a\0b", 3}, std::string{"\xff"}, std::string(257, 'x')}) {
    fixture.kafka.produce({Message{.topic = fixture.topic, .key = "k", .payload = "p", .headers = {{"id", id}}}});
  }
  fixture.produce(5);
  CHECK(fixture.wait_done().is_perfect());
  fixture.database.wait_for("five are in quarantine", "select count(*) from inbox.quarantined", 5);
  CHECK(fixture.database.text(
            "select string_agg(reason || ' ' || payload_size || ' ' || coalesce(encode(payload, 'escape'), "
            "'-'), ', ' order by \"offset\") from inbox.quarantined") ==
        "no_id 15 nobody knows me, too_large 5000 -, bad_id 1 p, bad_id 1 p, bad_id 1 p");
}

// fault: absurd timestamps
TEST_CASE("records with absurd times are stored, handled and shown with them, without an error loop") {
  DaemonFixture fixture{1};
  const auto odd = read_topic_of_any_time(fixture);
  const std::vector<std::int64_t> times{1, -86'400'000, 253'402'300'800'000, 9'224'318'016'000'000,
                                        std::numeric_limits<std::int64_t>::max() / 1000,
                                        std::numeric_limits<std::int64_t>::max()};
  std::vector<Message> messages;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::string id = "4d000000-0000-4000-8000-00000000000" + std::to_string(i);
    messages.push_back(event_message(odd, id));
    messages.back().timestamp_ms = times[i];
    fixture.note({id});
  }
  fixture.kafka.produce(messages);
  const auto daemon = fixture.start();
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == static_cast<std::int64_t>(times.size()));
  for (const std::string kind : {"consumer.commit_failed", "consumer.first_start_postponed", "dispatcher.no_thread",
                                 "ingest.batch_failed", "ingest.batch_refused", "ingest.poison_not_found",
                                 "maintenance.chore_failed", "settler.event_retried", "settler.events_retried"}) {
    CAPTURE(kind);
    CHECK(daemon->count_in_log("kind=" + kind) == 0);
  }
  // A timestamp before 1970 goes into a header, in Kafka's form.
  const auto raw_time = [&](const std::string& from, std::size_t i) {
    return fixture.database.text(
        "select coalesce(max(headers->>'inboxd-kafka-timestamp'), '') from " + from + " where event_id = $1::uuid",
        {fixture.ids()[i]});
  };
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto shown = command(fixture.config, {"events", "show", fixture.ids()[i], "--json"});
    INFO(shown.out << shown.err);
    CHECK(shown.status == ExitStatus{0, 0});
    const bool fits = times[i] >= 0;
    CHECK((shown.out.find("inboxd-kafka-timestamp") == std::string::npos) == fits);
    CHECK(raw_time("inbox.events", i) == (fits ? "" : std::to_string(times[i])));
    CHECK(fixture.database.number("select count(kafka_timestamp) from inbox.event where event_id = $1::uuid",
                                  {fixture.ids()[i]}) == (fits ? 1 : 0));
  }
  const auto listed = command(fixture.config, {"events", "list"});
  INFO(listed.out << listed.err);
  CHECK(listed.status == ExitStatus{0, 0});
}

TEST_CASE("record timestamps in seconds, microseconds and nanoseconds are told by their magnitude, and do not expire") {
  DaemonFixture fixture{1};
  const auto odd = read_topic_of_any_time(fixture);
  fixture.config.handlers[0].more = {"expire_after: 1h"};
  const auto now = fixture.database.number("select extract(epoch from clock_timestamp())::bigint");
  std::vector<Message> messages;
  std::int64_t unit = 1;
  for (int i = 0; i < 4; ++i, unit *= 1'000) {
    const std::string id = "4f000000-0000-4000-8000-00000000000" + std::to_string(i);
    messages.push_back(event_message(odd, id));
    messages.back().timestamp_ms = now * unit;
    fixture.note({id});
  }
  fixture.kafka.produce(messages);
  const auto daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.event where occurred_at = to_timestamp($1::bigint) and "
                                "kafka_timestamp = occurred_at",
                                {std::to_string(now)}) == 4);
}

// fault: absurd timestamps
TEST_CASE("a record timestamp before 1970 is kept in dead letters and in quarantine") {
  DaemonFixture fixture{1};
  const auto odd = read_topic_of_any_time(fixture);
  fixture.set("dead_type", "Deadly");
  const std::string time = "-86400000";
  Message dead = event_message(odd, "4e000000-0000-4000-8000-000000000000", "{}", "Deadly");
  Message without_id{.topic = odd};
  without_id.headers.emplace_back("trace", "abc");
  dead.timestamp_ms = without_id.timestamp_ms = -86'400'000;
  fixture.kafka.produce({dead, without_id});
  const auto daemon = fixture.start();
  const std::string has_time = " where headers->>'inboxd-kafka-timestamp' = '" + time + "'";
  fixture.database.wait_for("the dead letter has it", "select count(*) from inbox.dead_letters" + has_time, 1);
  fixture.database.wait_for("the record in quarantine has it",
                            "select count(*) from inbox.quarantined" + has_time +
                                " and headers->>'trace' = 'abc' and kafka_timestamp is null",
                            1);
  const auto shown = command(fixture.config, {"quarantine", "show", "1"});
  INFO(shown.out << shown.err);
  CHECK(shown.out.find(time) != std::string::npos);
}
