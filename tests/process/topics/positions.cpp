// Where a start continues: the group's offsets, times, added partitions, a fixed member.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <string>
#include <vector>

#include "process/support/daemon_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

// fault: group offsets expired or deleted
TEST_CASE("after the group's offsets expire or are deleted, the daemon continues from its positions") {
  DaemonFixture fixture{3};
  auto daemon = fixture.start();
  fixture.produce(300);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.kafka.delete_group(fixture.config.group);
  CHECK(fixture.kafka.committed(fixture.config.group, fixture.topic).empty());
  fixture.produce(100);
  daemon = fixture.start();
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(counts.calls == 400);
  fixture.database.wait_for("the old records were not read again", "select sum(position)::int from inbox.lag", 400);
  CHECK(fixture.database.number(
            "select count(*) from inbox.position where first_offset >= 0 and next_offset <= first_offset") == 0);
}

// fault: partitions added
TEST_CASE("new partitions start at once, even while a fetch of the others waits for records") {
  DaemonFixture fixture{1};
  fixture.config.kafka["fetch.wait.max.ms"] = "10000";
  const auto daemon = fixture.start();
  daemon->wait_log("kind=consumer.reading");
  fixture.kafka.add_partitions(fixture.topic, 8);
  daemon->wait_log("kind=consumer.reading", 9);  // all of them again, and the first once before
}

// fault: partitions added
TEST_CASE("added partitions are read from their beginning, also with start: end") {
  DaemonFixture fixture{1};
  fixture.config.topics = {"{name: " + fixture.topic + ", start: end}"};
  const auto daemon = fixture.start();
  fixture.database.wait_for("the first position is written", "select count(*) from inbox.lag", 1);
  fixture.kafka.add_partitions(fixture.topic, 3);
  std::vector<Message> messages;
  std::vector<std::string> ids;
  for (int i = 0; i < 90; ++i) {
    ids.push_back("0e000000-0000-4000-8000-" + std::to_string(100'000'000'000 + i));
    messages.push_back(event_message(fixture.topic, ids.back()));
    messages.back().partition = i % 3;
  }
  fixture.kafka.produce(messages);  // before any client has noticed the new partitions
  fixture.note(ids);
  const auto counts = fixture.wait_done();
  CHECK(counts.is_perfect());
  CHECK(fixture.database.number("select count(*) from inbox.lag") == 3);
}

TEST_CASE("start: TIME stores the records since then; a time in the future stores new records only") {
  DaemonFixture fixture{1};
  const std::string now =
      "select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"') from pg_sleep(0.01)";
  fixture.produce(5);
  const std::string between = fixture.database.text(now);
  fixture.database.text(now);
  fixture.produce(7);
  const bool is_ahead = GENERATE(false, true);
  fixture.config.topics = {"{name: " + fixture.topic + ", start: \"" + (is_ahead ? "2999-01-01T00:00:00Z" : between) +
                           "\"}"};
  const auto daemon = fixture.start();
  fixture.database.wait_for("the first position is written", "select count(*) from inbox.lag", 1);
  fixture.produce(3);
  fixture.wait_stored(is_ahead ? 3 : 10);
  CHECK(fixture.position() == 15);
  CHECK(fixture.database.number("select min(\"offset\") from inbox.event") == (is_ahead ? 12 : 5));
}

TEST_CASE("start: committed continues after the group's offsets, as for an inbox that replaces another consumer") {
  DaemonFixture fixture{1};
  fixture.produce(8);
  {
    const auto before = fixture.start();
    fixture.wait_stored(8);
    before->stop();
  }
  Database fresh;
  fixture.config.url = fresh.url();
  fixture.config.schema = fresh.schema();
  fixture.config.topics = {"{name: " + fixture.topic + ", start: committed}"};
  fixture.produce(4);
  const auto daemon = fixture.start();
  fresh.wait_for("what is new is stored", "select count(*) from inbox.event", 4);
  CHECK(fresh.number("select min(\"offset\") from inbox.event") == 8);
}

TEST_CASE("an instance with a fixed instance_id restarts without a rebalance") {
  DaemonFixture fixture{4};
  fixture.config.kafka["session.timeout.ms"] = "6000";
  const auto other = fixture.start();
  fixture.config.instance_id = "one";
  auto fixed = fixture.start();
  wait_until("both are members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  fixture.produce(200);
  CHECK(fixture.wait_done().is_perfect());
  const int before = other->count_in_log("kind=consumer.partitions_revoked");
  CHECK(fixed->stop() == ExitStatus{0, 0});
  fixture.produce(200);
  fixed = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(other->count_in_log("kind=consumer.partitions_revoked") == before);
}

TEST_CASE("a start waits for the brokers") {
  DaemonFixture fixture{2};
  Proxy proxy{port_of(fixture.kafka.brokers())};
  proxy.refuse(true);
  fixture.config.brokers = "127.0.0.1:" + std::to_string(proxy.port());
  fixture.produce(50);
  const auto daemon = fixture.start();
  wait_until("it has tried", [&] { return proxy.accepted() >= 3; });
  CHECK(daemon->process().is_running());
  proxy.refuse(false);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(daemon->stop() == ExitStatus{0, 0});
}
