#include <array>
#include <catch2/catch_test_macros.hpp>
#include <memory>

#include "process/support/order_fixture.hpp"
#include "support/test_environment.hpp"

using namespace inboxd::support;

namespace {

/// A key whose event 2 of ten is dead and parks it, in a running daemon.
struct ParkedFixture {
  ParkedFixture() {
    fixture.set("dead_type", "Dead");
    daemon = fixture.start();
    fixture.events.produce(10, [](int i) { return KeyedEvents::Made{"key", i == 2 ? "Dead" : "Happened"}; });
    fixture.database.wait_for("seven are parked", "select coalesce(max(waiting), 0) from inbox.lanes", 7);
  }

  void run(std::vector<std::string> words) {
    words.push_back("--yes");
    const Finished done = command(fixture.config, words);
    CAPTURE(done.out, done.err);
    CHECK(done.status == ExitStatus{0, 0});
  }
  std::string event_id(int i) const { return fixture.events.ids()[static_cast<std::size_t>(i)]; }
  void no_more_deaths() { fixture.database.run("update inbox.event set event_type = 'Happened'"); }

  OrderFixture fixture{1, {"on_failure: park", "retry: {max_attempts: 50, backoff: fixed, base: 1h, jitter: 0}"}};
  std::unique_ptr<DaemonProcess> daemon;
};

}  // namespace

TEST_CASE("a running daemon delivers a released key's events without the dead event, then new events") {
  ParkedFixture parked;
  const auto status = command(parked.fixture.config, {"status"});
  CHECK(status.out.find("handler recorder has 7 events parked behind dead letters of their keys") != std::string::npos);
  CHECK(status.out.find("handler recorder has 1 dead letter, ") != std::string::npos);
  parked.run({"lanes", "release", "--key", "key"});
  parked.fixture.events.produce(5, [](int) { return KeyedEvents::Made{"key"}; });
  parked.fixture.database.wait_for("all but one are done",
                                   "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome "
                                   "where outcome = 'done'",
                                   14);
  CHECK(parked.fixture.events.calls_of("key") == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
}

// fault: dead letter replayed while later events of its key run
TEST_CASE("a running daemon delivers a replayed dead letter first, then the events that it parks, then new events") {
  ParkedFixture parked;
  parked.no_more_deaths();
  parked.run({"dead", "replay", "--all"});
  parked.fixture.events.produce(5, [](int) { return KeyedEvents::Made{"key"}; });
  CHECK(parked.fixture.wait_done().is_perfect());
  CHECK(parked.fixture.events.calls_of("key") == std::vector<int>{0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
}

// fault: dead letter replayed while later events of its key run
TEST_CASE("events that are produced after a replay run after the replayed events of their keys") {
  constexpr int keys = 30, each = 12;
  OrderFixture fixture{6, {"retry: {max_attempts: 1}", "on_failure: block"}};
  fixture.set("dead_type", "Dead");
  fixture.migrate();
  const std::array daemons{fixture.start(), fixture.start(), fixture.start()};
  std::vector<int> expected;
  for (int i = 0; i < 3 * each; ++i) expected.push_back(i < each ? i : i - each);
  for (int round = 1; round <= (is_long() ? 40 : 3); ++round) {
    CAPTURE(round);
    const auto key = [&](int i) { return "round" + std::to_string(round) + "key" + std::to_string(i % keys); };
    const auto produce = [&](const std::string& type) {
      fixture.events.produce(keys * each, [&](int i) { return KeyedEvents::Made{key(i), type}; });
    };
    produce("Dead");
    fixture.database.wait_for("all are dead", "select count(*) from inbox.dead_letter", keys * each);
    fixture.database.run("update inbox.event set event_type = 'Happened' where event_type <> 'Happened'");
    const Finished replayed = command(fixture.config, {"dead", "replay", "--handler", "recorder", "--yes"});
    CHECK(replayed.status == ExitStatus{0, 0});
    produce("Happened");
    CHECK(fixture.wait_done().is_perfect());
    for (int i = 0; i < keys; ++i) CHECK(fixture.events.calls_of(key(i)) == expected);
  }
}

// fault: rebalance while keys are blocked or parked
TEST_CASE("a key parked by a dead letter stays parked after a restart") {
  ParkedFixture parked;
  CHECK(parked.daemon->stop() == ExitStatus{0, 0});
  parked.daemon = parked.fixture.start();
  parked.fixture.events.produce(5, [](int) { return KeyedEvents::Made{"key"}; });
  parked.fixture.database.wait_for("twelve are parked", "select coalesce(max(waiting), 0) from inbox.lanes", 12);
  CHECK(parked.fixture.events.calls_of("key").back() == 2);
  parked.no_more_deaths();
  parked.run({"dead", "replay", parked.event_id(2)});
  CHECK(parked.fixture.wait_done().is_perfect());
  CHECK(parked.fixture.events.out_of_order() == "");
}

TEST_CASE("a running daemon retries a blocked key's first event at once, and continues when it is skipped") {
  ParkedFixture parked;
  parked.run({"dead", "discard", "--all"});
  parked.fixture.events.produce(5, [](int i) { return KeyedEvents::Made{"other", i == 1 ? "Fails2" : "Happened"}; });
  auto& database = parked.fixture.database;
  const auto blocked = [&](int attempts) {
    database.wait_for("the key is blocked",
                      "select coalesce(max(attempts * 10 + waiting), 0) from inbox.lanes where due_at is not null",
                      attempts * 10 + 3);
  };
  blocked(1);
  parked.run({"events", "retry", parked.event_id(11), "--handler", "recorder"});
  blocked(2);
  parked.run({"events", "skip", parked.event_id(12), "--handler", "recorder", "--reason", "behind"});
  parked.run({"events", "skip", parked.event_id(11), "--handler", "recorder", "--reason", "head"});
  database.wait_for("nothing is pending", "select count(*) from inbox.delivery", 0);
  CHECK(parked.fixture.events.calls_of("other") == std::vector<int>{0, 1, 1, 3, 4});
  CHECK(database.text("select string_agg(last_error, ' ' order by \"offset\") from inbox.dead_letters") ==
        "head behind");
}
