// How much is claimed, and how much is in hand.
#include <catch2/catch_test_macros.hpp>

#include "support/no_threads.hpp"
#include "unit/dispatcher/fakes.hpp"

namespace inboxd::dispatcher {

using plugin::Delivered;
using plugin::Verdict;
using support::eventually;
using test::Door;
using test::House;
using test::lease_of;
using test::offsets_from;
using test::say_done;

TEST_CASE("claims look at more rows where small ones are many") {
  House house;
  for (std::int64_t id = 1; id <= 3'000; ++id) house.database.add(lease_of({id}, id));
  house.run(say_done);
  REQUIRE(eventually([&] { return house.database.done() == 3'000; }));
  const auto claims = house.database.read([](const auto& it) { return it.claims; });
  CHECK(claims.size() < 30);
  CHECK(claims.front().rows == 16);
}

TEST_CASE("a claim asks for half of what may be in hand, so that the next one runs while it is worked through") {
  config::Dispatch settings;
  settings.in_hand_events = 1'000;
  House house{settings};
  for (std::int64_t id = 1; id <= 200; ++id) house.database.add(lease_of(offsets_from(id * 100, 50), id));
  house.run(say_done);
  REQUIRE(eventually([&] { return house.database.done() == 200 * 50; }));
  std::int64_t most = 0;
  for (const auto& claim : house.database.read([](const auto& it) { return it.claims; })) {
    most = std::max(most, claim.events);
  }
  CHECK(most == 500);
}

TEST_CASE("more is never in hand than the limits allow, whatever the number of handlers") {
  config::Dispatch settings;
  settings.in_hand_events = 100;
  House house{settings};
  const auto door = std::make_shared<Door>();
  std::vector<HandlerSetup> setup;
  for (std::int32_t id = 1; id <= 4; ++id) {
    setup.push_back({id, House::handler(1),
                     std::make_unique<test::SayingInstance>([door](const Delivered&, const auto&) {
                       door->pass();
                       return Verdict{};
                     }),
                     false});
  }
  house.dispatcher.replace_handlers(std::move(setup));
  house.dispatcher.start();
  for (std::int32_t id = 1; id <= 4; ++id) {
    REQUIRE(eventually([&] { return !house.dispatcher.stats(id).backlog; }));
  }
  std::int64_t all = 0;
  for (std::int32_t id = 1; id <= 4; ++id) all += house.dispatcher.reserve(id, 1'000, 100'000).events;
  CHECK(all <= 100);
  for (std::int32_t id = 1; id <= 4; ++id) CHECK(house.dispatcher.stats(id).reserved >= 12);
  door->unlock();
}

TEST_CASE("large events are limited by their bytes") {
  config::Dispatch settings;
  settings.in_hand_bytes = 10 << 20;
  House house{settings};
  house.run(say_done);
  REQUIRE(house.caught_up());
  const auto room = house.dispatcher.reserve(7, 50, 50 << 20);
  CHECK(room.events <= 10);
  CHECK(room.events >= 8);
  house.dispatcher.release(7, room.events);
  CHECK(house.dispatcher.idle());
}

TEST_CASE("a fast handler soon has thousands in hand") {
  House house;
  house.run(say_done, House::handler(8));
  REQUIRE(house.caught_up());
  std::int64_t id = 0;
  REQUIRE(eventually([&] {
    house.give(lease_of(offsets_from(0, 60), ++id));
    return house.dispatcher.stats(7).target >= 5'000;
  }));
  CHECK(id < 100);
}

TEST_CASE("a handler that comes to want payloads gets none of the events that were claimed without, or still are") {
  auto settings = House::handler(1, 100);
  const auto hand = std::make_shared<InHand>(7, settings, std::chrono::milliseconds{1'000},
                                             std::make_shared<Shared>(10'000, 10'000'000));
  const auto claim = [&](std::int64_t id, const auto& meanwhile) {
    const auto wish = hand->begin_claim(InHand::Clock::now());
    REQUIRE(wish);
    auto lease = lease_of(offsets_from(id * 100, 3), id);
    lease.has_content = wish->payloads;
    std::vector<inbox::LeasedRun> runs;
    runs.push_back(std::move(lease));
    meanwhile();
    hand->end_claim(*wish, std::move(runs), InHand::Clock::now(), false);
  };
  hand->configure(settings, {false, true});
  claim(1, [&] { hand->reopen(InHand::Closed::paused); });
  hand->reopen(InHand::Closed::paused);  // a backlog
  claim(2, [&] {
    hand->configure(settings, {});
    CHECK(hand->take_left() == std::vector<inbox::LeaseKey>{{1, 1'001}});
  });
  CHECK(hand->take_left() == std::vector<inbox::LeaseKey>{{2, 1'002}});
  CHECK(hand->stats().backlog);
  CHECK(hand->stats().queued == 0);
  claim(2, [] {});
  CHECK(hand->stats().queued == 3);
  const std::atomic<bool> stop{false};
  for (const Piece& piece : hand->take(stop, {})) hand->lost(*piece.run);  // what is in hand holds it
}

TEST_CASE("a worker for whom there is no thread is hired when there is one") {
  House house;
  house.run(say_done);
  REQUIRE(house.caught_up());
  {
    const support::NoThreads none;
    house.dispatcher.replace_handlers(House::setup(say_done));
  }
  house.database.add(lease_of(offsets_from(0, 5), 1));
  CHECK(eventually([&] { return house.database.done() == 5; }));
}

}  // namespace inboxd::dispatcher
