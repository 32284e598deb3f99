#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "process/support/inbox_counts.hpp"
#include "process/support/numbered_producer.hpp"
#include "process/support/recorder_fixture.hpp"

using namespace inboxd::support;

TEST_CASE("start: end with two instances that are killed in turn loses nothing in between") {
  RecorderFixture fixture{3};
  fixture.config.topics = {"{name: " + fixture.topic + ", start: end}"};
  fixture.kafka.produce(events_of(fixture.topic, 0, 100));
  std::int64_t produced = 100;
  const auto produce_some = [&] {
    fixture.kafka.produce(events_of(fixture.topic, produced, 50));
    produced += 50;
  };
  auto one = std::make_unique<DaemonProcess>(fixture.config);
  wait_until("the first positions are written", [&] {
    try {
      return positions(fixture.database.session(), fixture.topic).size() == 3;
    } catch (const std::runtime_error&) {
      return false;  // the tables do not exist yet
    }
  });
  one->kill();  // most likely before the group has any offset
  for (int turn = 0; turn < 4; ++turn) {
    produce_some();
    DaemonProcess next{fixture.config};
    next.wait_ready();
    produce_some();
    if (turn % 2 == 1) {
      wait_until("it stores", [&] { return sum(positions(fixture.database.session(), fixture.topic)) > 150; });
    }
    next.kill();
  }
  produce_some();
  DaemonProcess last{fixture.config};
  expect_settled(fixture.database.session(), produced - 100);
  wait_for_end(fixture);
  REQUIRE(fixture.database.text("select min(event_id::text) from inbox.event") == id_of(100));
}

TEST_CASE("a handler that one of two instances adds gets every event from then on") {
  RecorderFixture fixture{4};
  DaemonProcess old{fixture.config};
  old.wait_ready();
  NumberedProducer producer{fixture.topic};
  fixture.database.wait_for("some events came before", "select (count(*) > 300)::int from inbox.event", 1);

  ConfigText wider = fixture.config;
  wider.handlers.push_back(wider.handlers[0]);
  wider.handlers.back().name = "added";
  wider.handlers.back().start = "now";
  auto updated = std::make_unique<DaemonProcess>(wider);
  updated->wait_ready();
  const auto from = fixture.kafka.ends(fixture.topic);  // both instances store from here on, for both handlers
  wait_until("the group has two members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  const auto before = producer.produced();
  wait_until("more comes", [&] { return producer.produced() > before + 2'000; });
  updated.reset();  // the old one continues alone, and still stores for the new handler
  const auto alone = producer.produced();
  wait_until("more comes", [&] { return producer.produced() > alone + 1'000; });
  const auto produced = producer.stop();
  expect_settled(fixture.database.session(), produced);

  DaemonProcess again{wider};
  fixture.database.wait_for("the new handler has settled all", "select coalesce(sum(events), 0) from inbox.delivery",
                            0);
  const auto counts = count(fixture.database.session(), "added");
  REQUIRE(counts.settled == counts.settled_distinct);
  REQUIRE(counts.settled < produced);  // start: now, so not all events
  for (const auto& [partition, offset] : from) {
    const auto missed = fixture.database.number(
        "select count(*) from inbox.event e join inbox.shard s using (shard_id) where s.partition = $1"
        " and e.\"offset\" >= $2 and not exists (select from inbox.outcome o join inbox.handler h using (handler_id)"
        "  where h.name = 'added' and o.shard_id = e.shard_id and o.offsets @> e.\"offset\")",
        {std::to_string(partition), std::to_string(offset)});
    INFO("partition " << partition << " from " << offset);
    REQUIRE(missed == 0);
  }
}
