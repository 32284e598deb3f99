// How much is claimed, and how much is in flight.
#include <catch2/catch_test_macros.hpp>

#include "support/no_threads.hpp"
#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using namespace test;

TEST_CASE("a claim looks at more rows if they are small") {
  DispatcherFixture it;
  for (std::int64_t id = 1; id <= 3'000; ++id) it.database.add(lease_of({id}, id));
  it.start(test::setup(handle_done));
  REQUIRE(it.done(3'000));
  const auto claims = it.database.get(&FakeDatabase::claims);
  CHECK(claims.size() < 30);
  CHECK(claims.front().rows == 16);
}

TEST_CASE("a claim asks for half of the room, so that the next one runs while its events are handled") {
  config::Dispatch settings;
  settings.in_hand_events = 1'000;
  DispatcherFixture it{settings};
  for (std::int64_t id = 1; id <= 200; ++id) it.database.add(lease_of(offsets_from(id * 100, 50), id));
  it.start(test::setup(handle_done));
  REQUIRE(it.done(200 * 50));
  std::int64_t most = 0;
  for (const auto& claim : it.database.get(&FakeDatabase::claims)) {
    most = std::max(most, claim.events);
  }
  CHECK(most == 500);
}

TEST_CASE("each handler has its own limit of events in flight") {
  config::Dispatch settings;
  settings.in_hand_events = 50;
  DispatcherFixture it{settings};
  test::Setups setups;
  for (std::int32_t id = 1; id <= 4; ++id) {
    setups = both(std::move(setups), test::setup(handle_done, handler({.concurrency = 1}), id));
  }
  it.start(std::move(setups));
  for (std::int32_t id = 1; id <= 4; ++id) {
    REQUIRE(it.caught_up(id));
    CHECK(it.dispatcher.reserve(id, 1'000, 100'000).events == 50);
  }
}

TEST_CASE("large events are limited by their bytes") {
  config::Dispatch settings;
  settings.in_hand_bytes = 10 << 20;
  DispatcherFixture it{settings};
  it.run(handle_done);
  const auto room = it.dispatcher.reserve(7, 50, 50 << 20);
  CHECK(room.events <= 10);
  CHECK(room.events >= 8);
  it.dispatcher.release(7, room.events);
  CHECK(it.dispatcher.idle());
}

TEST_CASE("a worker that lacks a thread starts once the system has one") {
  DispatcherFixture it;
  it.run(handle_done);
  {
    const support::NoThreads none;
    it.reload(handle_done);
  }
  it.database.add(lease_of(offsets_from(0, 5)));
  CHECK(it.done(5));
}

}  // namespace inboxd::dispatcher
