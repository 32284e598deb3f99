#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "process/support/order_fixture.hpp"

using namespace inboxd::support;

namespace {

std::string key_number(int i) { return "key" + std::to_string(i); }

std::vector<int> numbers_to(int end) {
  std::vector<int> out(static_cast<std::size_t>(end));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

}  // namespace

TEST_CASE("events of a key are called in turn, in log order") {
  OrderFixture fixture{4, {"concurrency: 8"}};
  fixture.set("takes", "1ms");
  const auto daemon = fixture.start();
  for (int round = 0; round < 10; ++round) {
    fixture.events.produce(200, [](int i) { return KeyedEvents::Made{key_number(i % 20)}; });
  }
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
  CHECK(fixture.events.calls_of("key3") == numbers_to(100));
}

TEST_CASE("a failing event blocks its key through its retries, and no other key") {
  OrderFixture fixture{1, {"retry: {max_attempts: 5, backoff: fixed, base: 4s, jitter: 0}"}};
  const auto daemon = fixture.start();
  fixture.events.produce(300, [](int i) {
    return KeyedEvents::Made{key_number(i % 3), i == 30 ? "Fails2" : "Happened"};
  });
  fixture.database.wait_for("other keys are done",
                            "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome", 210);
  CHECK(fixture.events.calls_of("key0").back() == 10);
  fixture.events.produce(30, [](int i) { return KeyedEvents::Made{key_number(i % 3)}; });
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
  CHECK(fixture.events.calls_of("key0").size() == 112);
  CHECK(fixture.database.number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("after a dead event its key is parked, and no other key") {
  OrderFixture fixture{1, {"on_failure: park"}};
  fixture.set("dead_type", "Bad");
  const auto daemon = fixture.start();
  fixture.events.produce(90, [](int i) { return KeyedEvents::Made{key_number(i % 3), i == 30 ? "Bad" : "Happened"}; });
  const auto letters = "select count(*) from inbox.dead_letters where state = '";
  fixture.database.wait_for("the events behind it are parked", letters + std::string{"parked'"}, 19);
  fixture.events.produce(30, [](int i) { return KeyedEvents::Made{key_number(i % 3)}; });
  fixture.database.wait_for("later ones are parked, too", letters + std::string{"parked'"}, 29);
  CHECK(fixture.database.number(letters + std::string{"dead'"}) == 1);
  CHECK(fixture.events.calls_of("key0") == numbers_to(11));
  fixture.database.wait_for("other keys are done",
                            "select sum(inbox.count_of(offsets)) from inbox.outcome where outcome = 'done'", 90);
  CHECK(fixture.events.calls_of("key1") == numbers_to(40));
  CHECK(fixture.database.number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("with on_failure: skip later events of a key do not wait for a failed event") {
  OrderFixture fixture{1, {"on_failure: skip", "retry: {backoff: fixed, base: 3s, jitter: 0}"}};
  const auto daemon = fixture.start();
  fixture.events.produce(20, [](int i) { return KeyedEvents::Made{"one", i == 5 ? "Fails1" : "Happened"}; });
  fixture.database.wait_for("all others are done",
                            "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome", 19);
  CHECK(fixture.wait_done().is_perfect());
  auto expected = numbers_to(20);
  expected.push_back(5);
  CHECK(fixture.events.calls_of("one") == expected);
}

// fault: one key with half of the traffic
TEST_CASE("a slow key with half of the events does not hold up the others, and keeps its order") {
  OrderFixture fixture{1, {"concurrency: 4"}};
  fixture.config.sections["dispatch"] = "in_hand_events: 200";
  fixture.set("takes", "100ms");
  fixture.set("takes_type", "Slow");
  auto daemon = fixture.start();
  fixture.events.produce(2'000, [](int i) {
    return i % 2 == 0 ? KeyedEvents::Made{"hot", "Slow"} : KeyedEvents::Made{key_number(i % 20)};
  });
  fixture.database.wait_for(
      "the other keys are done",
      "select coalesce(sum(inbox.count_of(o.offsets - l.offsets)), 0) from inbox.outcome o, "
      "(select range_agg(int8range(\"offset\", \"offset\" + 1)) as offsets from inbox.event where key = 'hot') l",
      1'000);
  CHECK(fixture.events.calls_of("hot").size() < 300);
  CHECK(fixture.database.number("select count(*) from inbox.lanes where state = 'blocked'") == 1);
  daemon->stop();
  fixture.set("takes", "0ms");
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
  CHECK(fixture.database.number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("with missing_key: partition events without a key keep the order of theirs through retries and a restart") {
  OrderFixture fixture{
      3, {"missing_key: partition", "concurrency: 4", "retry: {backoff: fixed, base: 2s, jitter: 0}"}};
  const auto produce = [&](int count, const std::string& first_type) {
    fixture.events.produce(count, [&](int i) {
      if (i % 4 == 3) return KeyedEvents::Made{key_number(i % 20)};
      KeyedEvents::Made made{"partition" + std::to_string(i % 4), i < 4 ? first_type : "Happened"};
      made.partition = i % 4;
      return made;
    });
  };
  auto daemon = fixture.start();
  produce(200, "Fails2");
  fixture.database.wait_for("all else waits behind the first event of each partition",
                            "select coalesce(sum(waiting), 0) from inbox.lanes where state = 'blocked'", 147);
  fixture.database.wait_for("events with a key are done",
                            "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome", 50);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  produce(40, "Fails1");
  daemon = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
  CHECK(fixture.events.calls_of("partition1").size() == 63);
}

TEST_CASE("a key that comes on several partitions keeps the order of storing with order_scope: handler") {
  OrderFixture fixture{4, {"order_by: \"header:customer\"", "concurrency: 4"}};
  const auto daemon = fixture.start();
  for (int i = 0; i < 60; ++i) {
    // Each is stored before the next event is produced.
    fixture.events.produce(1, [&](int) {
      KeyedEvents::Made made{"customer" + std::to_string(i % 3), i == 12 ? "Fails2" : "Happened"};
      made.record_key = "record" + std::to_string(i);
      return made;
    });
    fixture.wait_stored(i + 1);
  }
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
}

TEST_CASE("a handler that starts with history gets it before the new events of each key") {
  OrderFixture fixture{2};
  const auto handlers = fixture.config.handlers;
  fixture.config.handlers[0].name = "first";
  fixture.config.handlers[0].more = {"mode: single"};
  auto daemon = fixture.start();
  fixture.events.produce(3'000, [](int i) { return KeyedEvents::Made{key_number(i % 7)}; });
  fixture.wait_stored(3'000);
  fixture.config.handlers.push_back(handlers[0]);
  daemon->stop();
  daemon = fixture.start();
  fixture.events.produce(500, [](int i) { return KeyedEvents::Made{key_number(i % 7)}; });
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
}

TEST_CASE("an instance that runs the handler takes the sequences of a partition that another instance reads") {
  OrderFixture fixture{1};
  const auto with_handler = fixture.config;
  fixture.migrate();
  // The first member of the group gets the only partition. It does not run the handler.
  fixture.config.handlers[0].name = "other";
  fixture.config.handlers[0].more = {"mode: single"};
  const auto reader = fixture.start();
  fixture.events.produce(10, [](int) { return KeyedEvents::Made{"one"}; });
  fixture.wait_stored(10);
  fixture.config = with_handler;
  const auto runner = fixture.start();
  fixture.events.produce(200, [](int i) { return KeyedEvents::Made{key_number(i % 5)}; });
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.events.out_of_order() == "");
}
