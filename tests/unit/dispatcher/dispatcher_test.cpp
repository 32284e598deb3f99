#include "dispatcher/dispatcher.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/dispatcher/fakes.hpp"

namespace inboxd::dispatcher {

using plugin::Delivered;
using plugin::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using test::House;
using test::lease_of;
using test::offsets_from;
using test::retry;
using test::say_done;

TEST_CASE("what is due in the database is claimed, handled and settled") {
  House house;
  for (std::int64_t id = 1; id <= 5; ++id) house.database.add(lease_of(offsets_from(id * 100, 10), id));
  house.run(say_done);
  REQUIRE(eventually([&] { return house.database.done() == 50; }));
  CHECK(eventually([&] { return house.dispatcher.idle(); }));
}

TEST_CASE("a run that was born leased is handled without a claim") {
  House house;
  house.run(say_done);
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of(offsets_from(0, 20))));
  REQUIRE(eventually([&] { return house.database.done() == 20; }));
  CHECK(house.database.read([](const auto& it) { return it.claims.size(); }) == 0);
}

TEST_CASE("nothing is born leased before the database was found to hold no older events") {
  House house;
  CHECK_FALSE(house.give(lease_of({1})));
  house.dispatcher.replace_handlers(House::setup(say_done));
  CHECK_FALSE(house.give(lease_of({1})));
  house.dispatcher.start();
  REQUIRE(house.caught_up());
  CHECK(house.give(lease_of({1})));
}

TEST_CASE("events born due are claimed at once, without waiting for the next look") {
  config::Dispatch settings;
  settings.poll = seconds{600};
  House house{settings};
  house.run(say_done);
  REQUIRE(house.caught_up());
  house.database.add(lease_of({1, 2, 3}));
  house.dispatcher.born_due(7);
  CHECK(eventually([&] { return house.database.done() == 3; }));
}

TEST_CASE("due events that nobody told of are found by looking now and then") {
  House house;
  house.run(say_done);
  REQUIRE(house.caught_up());
  house.database.add(lease_of({1, 2, 3}));
  CHECK(eventually([&] { return house.database.done() == 3; }));
}

TEST_CASE("neighbours of a failed event are not held up") {
  House house;
  house.run([](const Delivered& each, const auto&) { return each.event->offset % 10 == 3 ? retry() : Verdict{}; });
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of(offsets_from(0, 50))));
  REQUIRE(eventually([&] { return house.settler.counters().done == 45; }));
  CHECK(eventually([&] { return house.settler.counters().retried == 5; }));
  CHECK(house.database.failures().size() == 5);
  for (const auto& failure : house.database.failures()) CHECK(failure.attempt == 1);
}

TEST_CASE("a retry asked for by the handler keeps its delay") {
  House house;
  house.run([](const Delivered&, const auto&) { return retry("busy", milliseconds{12'345}); });
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1})));
  REQUIRE(eventually([&] { return house.settler.counters().retried == 1; }));
  CHECK(house.database.retries().at(0).delay == milliseconds{12'345});
}

TEST_CASE("the database is looked at when a retry comes due, however long the poll") {
  config::Dispatch settings;
  settings.poll = seconds{600};
  House house{settings};
  house.run([&](const Delivered& each, const auto&) {
    return each.attempt == 1 ? retry("busy", milliseconds{30}) : Verdict{};
  });
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1})));
  REQUIRE(eventually([&] { return house.settler.counters().retried == 1; }));
  house.database.add(lease_of({1}, 2, 1));
  CHECK(eventually([&] { return house.database.done() == 1; }));
}

TEST_CASE("behind a new connection claims look everywhere again: the server may have been set back") {
  config::Dispatch settings;
  settings.poll = milliseconds{1};
  auto limits = House::quick();
  limits.claimer.reading = limits.claimer.idle_reading = milliseconds{1};
  House house{settings, limits};
  house.run(say_done);
  const auto has_mark = [&] { return house.database.read([](const auto& it) { return it.not_before.has_value(); }); };
  REQUIRE(eventually(has_mark));
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.oldest_transaction = 0;  // so that the mark that was forgotten does not come back
    house.database.generation = 2;
  }
  CHECK(eventually([&] { return !has_mark(); }));
}

TEST_CASE("deliveries whose events are gone leave as skipped") {
  House house;
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.empty = {{77, 1}};
  }
  house.run(say_done);
  CHECK(eventually(
      [&] { return house.database.read([](const auto& it) { return it.skipped; }) == std::vector<std::int64_t>{77}; }));
}

TEST_CASE("what a claim brought is handled though the rest of it could not be given back, which is tried again") {
  House house;
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.over = {{78, 1}};
  }
  house.database.add(lease_of(offsets_from(0, 10), 1));
  house.run(say_done);
  CHECK(eventually([&] { return house.database.done() == 10; }));
  CHECK(eventually([&] { return house.database.all_given_back() == std::vector<std::int64_t>{78}; }));
}

TEST_CASE("a call gets events of several runs where one run has too few") {
  House house;
  std::mutex mutex;
  std::size_t most = 0;
  struct Counting final : plugin::Instance {
    Counting(std::mutex& m, std::size_t& n) : mutex{m}, most{n} {}
    std::vector<Verdict> handle(std::span<const Delivered> events, const plugin::Cancellation&,
                                std::chrono::steady_clock::time_point) override {
      const std::lock_guard lock{mutex};
      most = std::max(most, events.size());
      return std::vector<Verdict>(events.size());
    }
    std::mutex& mutex;
    std::size_t& most;
  };
  for (std::int64_t id = 1; id <= 60; ++id) house.database.add(lease_of({id}, id));
  std::vector<HandlerSetup> setup;
  setup.push_back({7, House::handler(1, 16), std::make_unique<Counting>(mutex, most), false});
  house.dispatcher.replace_handlers(std::move(setup));
  house.dispatcher.start();
  REQUIRE(eventually([&] { return house.database.done() == 60; }));
  CHECK(most == 16);
}

}  // namespace inboxd::dispatcher
