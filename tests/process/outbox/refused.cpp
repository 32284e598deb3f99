#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/outbox/outbox_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string run(OutboxFixture& fixture, const std::vector<std::string>& arguments) {
  const auto finished = command(fixture.config, arguments);
  return finished.out + finished.err;
}

const std::string stopped = "select count(*) from inbox.outbox_lane";
const std::string waiting = "select count(*) from inbox.outbox_waiting";

}  // namespace

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

TEST_CASE("a message that the topic refuses as too large stops its key alone, until it is skipped") {
  OutboxFixture fixture{1};
  const std::string small = fixture.kafka.create_topic(1, "", {{"max.message.bytes", "20000"}});
  fixture.config.topics = {"{name: " + small + "}"};
  const auto daemon = fixture.start();
  const std::string large = "{\"n\": 0, \"x\": \"" + fixture.database.text("select string_agg(md5(i::text), '') from "
                                                                            "generate_series(1, 2000) i") + "\"}";
  fixture.database.run(
      "with m as (select i, case when i = 500 then $2 else '{\"n\": ' || i || '}' end as payload "
      "from generate_series(1, 1000) i) select inbox.publish($1, 'k' || i % 10, payload::jsonb) from m",
      {small, large});
  fixture.database.wait_for("it is stopped", stopped, 1);
  fixture.wait_received(949, milliseconds{60'000});
  fixture.database.wait_for("the later ones of its key wait", waiting, 51);
  CHECK(fixture.out_of_order() == 0);
  const std::string number = fixture.database.text("select min(outbox_id) from inbox.outbox_waiting");
  CHECK_THAT(run(fixture, {"outbox", "list"}), ContainsSubstring(number) && ContainsSubstring("MSG_SIZE_TOO_LARGE"));
  CHECK_THAT(run(fixture, {"outbox", "retry", number, "--yes"}), ContainsSubstring("1 changed"));
  fixture.database.wait_for("it fails again", "select max(attempts) from inbox.outbox_lane", 2);
  CHECK(fixture.received() == 949);
  CHECK_THAT(run(fixture, {"outbox", "skip", number, "--yes"}), ContainsSubstring("1 changed"));
  fixture.wait_received(999);
  fixture.wait_empty();
  CHECK(fixture.out_of_order() == 0);
  CHECK(fixture.database.number("select count(*) from inbox.audit where operation like 'outbox %'") == 2);
}

TEST_CASE("a topic that accepts only small batches gets them, and nothing is stopped") {
  OutboxFixture fixture{1};
  const std::string small = fixture.kafka.create_topic(1, "", {{"max.message.bytes", "30000"}});
  fixture.config.topics = {"{name: " + small + "}"};
  const auto daemon = fixture.start();
  fixture.database.run("select inbox.publish($1, 'k' || i % 10, jsonb_build_object('n', i, 'x', repeat('x', 500))) "
                       "from generate_series(1, 2000) i", {small});
  fixture.wait_received(2'000, milliseconds{60'000});
  fixture.wait_empty();
  CHECK(fixture.database.number(stopped) == 0);
  CHECK(fixture.out_of_order() == 0);
}

TEST_CASE("many messages behind a stopped key do not delay those of other keys") {
  OutboxFixture fixture{1};
  const auto daemon = fixture.start();
  fixture.database.run("insert into inbox.outbox_lane (lane, topic, key, whole_topic, error, attempts) "
                       "values (inbox.outbox_lane_of($1, 'dead'), $1, 'dead', false, 'a test', 1)", {fixture.topic});
  const int many = is_long() ? 1'000'000 : 100'000;
  fixture.database.run("select inbox.publish($1, 'dead', jsonb_build_object('n', i)) "
                       "from generate_series(1, $2::int) i", {fixture.topic, std::to_string(many)});
  fixture.database.wait_for("they wait", waiting, many, milliseconds{300'000});
  const auto began = monotonic_ms();
  fixture.publish(100);
  fixture.wait_received(100);
  CHECK(monotonic_ms() - began < 2'000);
  CHECK(fixture.left() == many);
  CHECK_THAT(run(fixture, {"outbox", "retry", "--all", "--yes"}), ContainsSubstring("1 changed"));
  fixture.wait_received(many + 100, milliseconds{300'000});
  fixture.wait_empty();
  CHECK(fixture.out_of_order() == 0);
}
