#include <catch2/catch_test_macros.hpp>

#include <memory>

#include "process/support/counting.hpp"
#include "process/support/stream.hpp"

using namespace inboxd::support;

TEST_CASE("start: end with two instances that die in turn loses nothing in between") {
  Scene scene{3};
  scene.config.topics = {"{name: " + scene.topic + ", start: end}"};
  scene.kafka.produce(events_of(scene.topic, 0, 100));
  std::int64_t produced = 100;
  const auto produce_some = [&] {
    scene.kafka.produce(events_of(scene.topic, produced, 50));
    produced += 50;
  };
  auto one = std::make_unique<Daemon>(scene.config);
  wait_until("the first positions are written", [&] {
    try {
      return positions(scene.database.session(), scene.topic).size() == 3;
    } catch (const std::runtime_error&) {
      return false;  // the tables are not there yet
    }
  });
  one->kill();  // most likely before the group knows anything
  for (int turn = 0; turn < 4; ++turn) {
    produce_some();
    Daemon next{scene.config};
    next.wait_ready();
    produce_some();
    if (turn % 2 == 1) {
      wait_until("it stores", [&] { return sum(positions(scene.database.session(), scene.topic)) > 150; });
    }
    next.kill();
  }
  produce_some();
  Daemon last{scene.config};
  expect_settled(scene.database.session(), produced - 100);
  wait_for_end(scene);
  REQUIRE(scene.database.text("select min(event_id::text) from inbox.event") == id_of(100));
}

TEST_CASE("a handler that one of two instances adds gets every event from then on") {
  Scene scene{4};
  Daemon old{scene.config};
  old.wait_ready();
  Stream load{scene.topic};
  scene.database.wait_for("some events came before", "select (count(*) > 300)::int from inbox.event", 1);

  ConfigText wider = scene.config;
  wider.handlers.push_back(wider.handlers[0]);
  wider.handlers.back().name = "added";
  wider.handlers.back().start = "now";
  auto updated = std::make_unique<Daemon>(wider);
  updated->wait_ready();
  const auto from = scene.kafka.ends(scene.topic);  // both store from here on, and owe it to both handlers
  wait_until("the group has two members", [&] { return scene.kafka.members(scene.config.group).size() == 2; });
  const auto before = load.produced();
  wait_until("more comes", [&] { return load.produced() > before + 2'000; });
  updated.reset();  // the old one goes on alone, and still owes it to the new handler
  const auto alone = load.produced();
  wait_until("more comes", [&] { return load.produced() > alone + 1'000; });
  const auto produced = load.stop();
  expect_settled(scene.database.session(), produced);

  Daemon again{wider};
  scene.database.wait_for("the new handler has settled all",
                          "select coalesce(sum(events), 0) from inbox.delivery", 0);
  const auto counts = count(scene.database.session(), "added");
  REQUIRE(counts.settled == counts.settled_once);
  REQUIRE(counts.settled < produced);  // start: now, so not everything
  for (const auto& [partition, offset] : from) {
    const auto missed = scene.database.number(
        "select count(*) from inbox.event e join inbox.shard s using (shard_id) where s.partition = $1"
        " and e.\"offset\" >= $2 and not exists (select from inbox.outcome o join inbox.handler h using (handler_id)"
        "  where h.name = 'added' and o.shard_id = e.shard_id and o.offsets @> e.\"offset\")",
        {std::to_string(partition), std::to_string(offset)});
    INFO("partition " << partition << " from " << offset);
    REQUIRE(missed == 0);
  }
}
