// How much is claimed, and how much is in flight.
#include <catch2/catch_test_macros.hpp>

#include "support/no_threads.hpp"
#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using event::Verdict;
using plugin::Delivered;
using support::eventually;
using test::DispatcherFixture;
using test::handle_done;
using test::Latch;
using test::lease_of;
using test::offsets_from;

TEST_CASE("a claim looks at more rows if they are small") {
  DispatcherFixture fixture;
  for (std::int64_t id = 1; id <= 3'000; ++id) fixture.database.add(lease_of({id}, id));
  fixture.run(handle_done);
  REQUIRE(eventually([&] { return fixture.database.done() == 3'000; }));
  const auto claims = fixture.database.read([](const auto& it) { return it.claims; });
  CHECK(claims.size() < 30);
  CHECK(claims.front().rows == 16);
}

TEST_CASE("a claim asks for half of the room, so that the next one runs while its events are handled") {
  config::Dispatch settings;
  settings.in_hand_events = 1'000;
  DispatcherFixture fixture{settings};
  for (std::int64_t id = 1; id <= 200; ++id) fixture.database.add(lease_of(offsets_from(id * 100, 50), id));
  fixture.run(handle_done);
  REQUIRE(eventually([&] { return fixture.database.done() == 200 * 50; }));
  std::int64_t most = 0;
  for (const auto& claim : fixture.database.read([](const auto& it) { return it.claims; })) {
    most = std::max(most, claim.events);
  }
  CHECK(most == 500);
}

TEST_CASE("the limits of events in flight hold for any number of handlers") {
  config::Dispatch settings;
  settings.in_hand_events = 100;
  DispatcherFixture fixture{settings};
  const auto latch = std::make_shared<Latch>();
  std::vector<HandlerSetup> setup;
  for (std::int32_t id = 1; id <= 4; ++id) {
    setup.push_back({id, DispatcherFixture::handler(1),
                     std::make_unique<test::FunctionInstance>([latch](const Delivered&, const auto&) {
                       latch->wait();
                       return Verdict{};
                     }),
                     false});
  }
  fixture.dispatcher.replace_handlers(std::move(setup));
  fixture.dispatcher.start();
  for (std::int32_t id = 1; id <= 4; ++id) {
    REQUIRE(eventually([&] { return !fixture.dispatcher.stats(id).backlog; }));
  }
  std::int64_t all = 0;
  for (std::int32_t id = 1; id <= 4; ++id) all += fixture.dispatcher.reserve(id, 1'000, 100'000).events;
  CHECK(all <= 100);
  for (std::int32_t id = 1; id <= 4; ++id) CHECK(fixture.dispatcher.stats(id).reserved >= 12);
  latch->open();
}

TEST_CASE("large events are limited by their bytes") {
  config::Dispatch settings;
  settings.in_hand_bytes = 10 << 20;
  DispatcherFixture fixture{settings};
  fixture.run(handle_done);
  REQUIRE(fixture.caught_up());
  const auto room = fixture.dispatcher.reserve(7, 50, 50 << 20);
  CHECK(room.events <= 10);
  CHECK(room.events >= 8);
  fixture.dispatcher.release(7, room.events);
  CHECK(fixture.dispatcher.idle());
}

TEST_CASE("a fast handler soon has thousands of events in flight") {
  DispatcherFixture fixture;
  fixture.run(handle_done, DispatcherFixture::handler(8));
  REQUIRE(fixture.caught_up());
  std::int64_t id = 0;
  REQUIRE(eventually([&] {
    fixture.ingest(lease_of(offsets_from(0, 60), ++id));
    return fixture.dispatcher.stats(7).target >= 5'000;
  }));
  CHECK(id < 100);
}

TEST_CASE("a worker that lacks a thread starts once the system has one") {
  DispatcherFixture fixture;
  fixture.run(handle_done);
  REQUIRE(fixture.caught_up());
  {
    const support::NoThreads none;
    fixture.dispatcher.replace_handlers(DispatcherFixture::setup(handle_done));
  }
  fixture.database.add(lease_of(offsets_from(0, 5), 1));
  CHECK(eventually([&] { return fixture.database.done() == 5; }));
}

}  // namespace inboxd::dispatcher
