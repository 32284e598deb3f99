#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/outbox/outbox_fixture.hpp"
#include "support/mock_brokers.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string run(OutboxFixture& fixture, const std::vector<std::string>& arguments) {
  const auto finished = command(fixture.config, arguments);
  return finished.out + finished.err;
}

const std::string stopped = "select count(*) from inbox.outbox_lane where failed_id is not null";
const std::string waiting = "select count(*) from inbox.outbox_waiting";

std::int64_t records_of(OutboxFixture& fixture, const std::string& topic) {
  std::int64_t out = 0;
  for (const auto& [partition, end] : fixture.kafka.ends(topic)) out += end;
  return out;
}

/// JSON of about 32 bytes for each part, which no compression makes small.
std::string large_payload(OutboxFixture& fixture, int parts) {
  return "{\"n\": 0, \"x\": \"" +
         fixture.database.text("select string_agg(md5(random()::text), '') from generate_series(1, $1::int)",
                               {std::to_string(parts)}) +
         "\"}";
}

}  // namespace

// fault: topic unknown in the outbox
TEST_CASE("messages for an unknown topic wait while others go on, and arrive in order once it exists") {
  OutboxFixture fixture;
  const auto daemon = fixture.start();
  const std::string missing = random_name("later");
  fixture.database.run("select inbox.publish($1, 'k' || i % 3, jsonb_build_object('n', i)) "
                       "from generate_series(1, 30) i", {missing});
  fixture.publish(100);
  fixture.wait_received(100);
  fixture.database.wait_for("they wait", waiting, 30);
  CHECK(fixture.database.number(stopped) == 1);
  CHECK_THAT(run(fixture, {"outbox", "list"}), ContainsSubstring(missing) && ContainsSubstring("UNKNOWN_TOPIC"));
  CHECK_THAT(run(fixture, {"status"}), ContainsSubstring("30 messages of the outbox cannot be sent"));
  fixture.kafka.create_topic(1, missing);
  fixture.wait_empty();
  fixture.database.wait_for("the lane has ended", stopped, 0);
  CHECK(fixture.kafka.ends(missing).at(0) == 30);
}

// fault: thousands of unknown topics in the outbox
TEST_CASE("thousands of unknown topics delay nobody, and are logged once a minute", "[alone]") {
  OutboxFixture fixture;
  const auto daemon = fixture.start();
  const std::string missing = random_name("tenant");
  fixture.database.run(
      "select inbox.publish($1 || '-' || i, case when i % 5 > 0 then 'k' end, '{}'::jsonb) "
      "from generate_series(1, 5000) i",
      {missing});
  const auto began = std::chrono::steady_clock::now();
  fixture.publish(100);
  fixture.wait_received(100);
  const auto took = std::chrono::steady_clock::now() - began;
  std::printf("with 5,000 unknown topics: %.1f s\n", std::chrono::duration<double>(took).count());
  CHECK(took < std::chrono::seconds{20});
  fixture.database.wait_for("they wait", waiting, 5000);
  fixture.publish(100);
  fixture.wait_received(200);
  CHECK(daemon->count_in_log("message cannot be sent") <= 2);
  fixture.kafka.create_topic(1, missing + "-7");
  wait_until("the one that exists now is sent", [&] { return records_of(fixture, missing + "-7") == 1; });
}

TEST_CASE("messages for a topic that is not in outbox.topics wait, and others are sent") {
  OutboxFixture fixture;
  const std::string other = fixture.kafka.create_topic(1);
  fixture.config.sections["outbox"] += ", topics: [\"" + fixture.topic.substr(0, fixture.topic.size() - 1) + "*\"]";
  const auto daemon = fixture.start();
  fixture.publish(other, "k", "{}");
  fixture.publish(20);
  fixture.wait_received(20);
  fixture.database.wait_for("it waits", waiting, 1);
  CHECK_THAT(run(fixture, {"outbox", "list"}), ContainsSubstring("the topic is not in outbox.topics"));
  CHECK(records_of(fixture, other) == 0);
}

TEST_CASE("dead letters are sent to their topic although outbox.topics lacks it") {
  OutboxFixture fixture;
  const std::string dead = fixture.kafka.create_topic(1);
  fixture.config.sections["outbox"] += ", topics: [billing]";
  fixture.config.handlers[0].more.push_back("retry: {max_attempts: 1}");
  fixture.config.handlers[0].more.push_back("dead_letters: {topic: " + dead + "}");
  fixture.set("fail_type", "Doomed");
  const auto daemon = fixture.start();
  fixture.kafka.produce({event_message(fixture.topic, "0193d2a0-0000-7000-8000-000000000001", "{}", "Doomed")});
  wait_until("the dead letter is sent", [&] { return records_of(fixture, dead) == 1; });
  fixture.wait_empty();
  CHECK(fixture.database.number(stopped) == 0);
}

TEST_CASE("messages for a forbidden topic wait while others are sent, and arrive once the right is granted") {
  OutboxFixture fixture;
  const std::string forbidden = fixture.kafka.create_topic(1);
  fixture.kafka.deny_seeing(forbidden, true);
  const auto daemon = fixture.start();
  fixture.database.run("select inbox.publish($1, 'k' || i % 3, jsonb_build_object('n', i)) "
                       "from generate_series(1, 30) i", {forbidden});
  fixture.publish(100);
  fixture.wait_received(100);
  fixture.database.wait_for("they wait", waiting, 30);
  CHECK_THAT(run(fixture, {"outbox", "list"}), ContainsSubstring(forbidden) && ContainsSubstring("AUTHORIZATION"));
  fixture.kafka.deny_seeing(forbidden, false);
  fixture.wait_empty();
  CHECK(fixture.kafka.ends(forbidden).at(0) == 30);
}

// fault: message too large in the outbox
TEST_CASE("a message that the topic refuses as too large stops its key alone, until it is skipped") {
  OutboxFixture fixture{1};
  const std::string small = fixture.kafka.create_topic(1, "", {{"max.message.bytes", "20000"}});
  fixture.config.topics = {"{name: " + small + "}"};
  const auto daemon = fixture.start();
  const std::string large = large_payload(fixture, 2'000);
  fixture.database.run(
      "with m as (select i, case when i = 500 then $2 else '{\"n\": ' || i || '}' end as payload "
      "from generate_series(1, 1000) i) select inbox.publish($1, 'k' || i % 10, payload::jsonb) from m",
      {small, large});
  fixture.database.wait_for("it is stopped", stopped, 1);
  fixture.wait_received(949);
  fixture.database.wait_for("the later ones of its key wait", waiting, 51);
  CHECK(fixture.out_of_order() == 0);
  const std::string number = fixture.database.text("select max(failed_id) from inbox.outbox_lane");
  CHECK_THAT(run(fixture, {"outbox", "list"}), ContainsSubstring(number) && ContainsSubstring("MSG_SIZE_TOO_LARGE"));
  CHECK(command(fixture.config, {"outbox", "skip", "--topic", fixture.topic, "--yes"}).err ==
        "inboxd: no stopped message matches; topics with stopped messages: " + small + "\n");
  CHECK_THAT(run(fixture, {"outbox", "retry", number, "--yes"}), ContainsSubstring("1 changed"));
  fixture.database.wait_for("it fails again", "select max(attempts) from inbox.outbox_lane", 2);
  CHECK(fixture.received() == 949);
  CHECK_THAT(run(fixture, {"outbox", "skip", number, "--yes"}), ContainsSubstring("1 changed"));
  fixture.wait_received(999);
  fixture.wait_empty();
  CHECK(fixture.out_of_order() == 0);
  CHECK(fixture.database.number("select count(*) from inbox.audit where operation like 'outbox %'") == 2);
}

TEST_CASE("a message never arrives before a refused message of its key, also a producer's first messages") {
  OutboxFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.kafka.create_topic(1) + "}"};
  const std::string small = fixture.kafka.create_topic(2, "", {{"max.message.bytes", "2000"}});
  for (int i = 0; i < 5; ++i) {
    fixture.publish(small, "k" + std::to_string(i), large_payload(fixture, 200));
    fixture.publish(small, "k" + std::to_string(i), "{}");
    fixture.publish(small, "other" + std::to_string(i), "{}");
  }
  const auto daemon = fixture.start();
  fixture.database.wait_for("each key is stopped", stopped, 5);
  fixture.database.wait_for("each later message waits", waiting, 10);
  wait_until("the others arrive", [&] { return records_of(fixture, small) == 5; });
  CHECK_THAT(run(fixture, {"outbox", "skip", "--all", "--yes"}), ContainsSubstring("5 changed"));
  fixture.wait_empty();
  CHECK(records_of(fixture, small) == 10);
}

TEST_CASE("the refused message is named and skipped, and not an earlier message that commits late") {
  OutboxFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.kafka.create_topic(1) + "}"};
  const std::string small = fixture.kafka.create_topic(1, "", {{"max.message.bytes", "2000"}});
  const auto daemon = fixture.start();
  Session late{fixture.database.url(), fixture.database.schema()};
  late.run("begin; select inbox.publish('" + small + "', 'k', '{\"n\": 1}')");
  fixture.publish(small, "k", large_payload(fixture, 200));
  fixture.database.wait_for("the key is stopped", stopped, 1);
  const std::string number = fixture.database.text("select failed_id from inbox.outbox_lane");
  late.run("commit");
  wait_until("the late one arrives", [&] { return records_of(fixture, small) == 1; });
  fixture.database.wait_for("the late one is deleted", waiting, 1);
  fixture.database.wait_for("the key is stopped again", stopped, 1);
  CHECK_THAT(run(fixture, {"outbox", "list"}), ContainsSubstring(number));
  CHECK_THAT(run(fixture, {"outbox", "skip", number, "--yes"}), ContainsSubstring("1 changed"));
  fixture.wait_empty();
  CHECK(records_of(fixture, small) == 1);
}

TEST_CASE("a partition without leader holds up its topic alone") {
  MockBrokers brokers;
  OutboxFixture fixture{1};
  brokers.serve(fixture.config);
  brokers.create_topic(fixture.topic, 1);
  brokers.create_topic("headless", 1);
  brokers.remove_leader("headless", 0);
  fixture.config.sections["outbox"] = "lease: 2s, retry: 1s, stalled_after: 3s, in_flight_messages: 50";
  const auto daemon = fixture.start();
  fixture.database.run("select inbox.publish('headless', null, '{}') from generate_series(1, 200)");
  fixture.publish(100);
  fixture.wait_received(100);
  fixture.database.wait_for("the others wait", waiting, 200);
  CHECK_THAT(run(fixture, {"outbox", "list"}), ContainsSubstring("headless") && ContainsSubstring("without leader"));
  brokers.elect_leader("headless", 0);
  fixture.wait_empty();
}

TEST_CASE("a topic that accepts only small batches gets them, and nothing is stopped") {
  OutboxFixture fixture{1};
  const std::string small = fixture.kafka.create_topic(1, "", {{"max.message.bytes", "30000"}});
  fixture.config.topics = {"{name: " + small + "}"};
  const auto daemon = fixture.start();
  fixture.database.run("select inbox.publish($1, 'k' || i % 10, jsonb_build_object('n', i, 'x', repeat('x', 500))) "
                       "from generate_series(1, 2000) i", {small});
  fixture.wait_received(2'000);
  fixture.wait_empty();
  CHECK(fixture.database.number(stopped) == 0);
  CHECK(fixture.out_of_order() == 0);
}

TEST_CASE("many messages that wait for a stopped key do not delay messages of other keys", "[alone]") {
  OutboxFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.database.run("insert into inbox.outbox_lane (lane, topic, key, whole_topic, error, attempts, "
                       "failed_id) values (inbox.outbox_lane_of($1, 'dead'), $1, 'dead', false, 'a test', 1, 1)",
                       {fixture.topic});
  const int many = is_long() ? 1'000'000 : 100'000;
  fixture.database.run("select inbox.publish($1, 'dead', jsonb_build_object('n', i)) "
                       "from generate_series(1, $2::int) i", {fixture.topic, std::to_string(many)});
  fixture.database.wait_for("they wait", waiting, many, milliseconds{is_long() ? 900'000 : 300'000});
  const auto began = monotonic_ms();
  fixture.publish(100);
  fixture.wait_received(100);
  CHECK(monotonic_ms() - began < 2'000);
  wait_until("only those of the key are left", [&] { return fixture.left() == many; });
  CHECK_THAT(run(fixture, {"outbox", "retry", "--all", "--yes"}), ContainsSubstring("1 changed"));
  fixture.wait_received(many + 100, milliseconds{300'000});
  fixture.wait_empty();
  CHECK(fixture.out_of_order() == 0);
}
