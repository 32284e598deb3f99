#include "dispatcher/dispatcher.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>

#include "unit/dispatcher/fakes.hpp"

namespace inboxd::dispatcher {
namespace {

using plugin::Delivered;
using plugin::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Door;
using test::eventually;
using test::House;
using test::lease_of;
using test::offsets_from;
using test::say_done;

Verdict retry(std::string error_class = "busy", std::optional<milliseconds> delay = std::nullopt) {
  return {Verdict::Kind::retry, delay, std::move(error_class), "made up"};
}

/// Which offsets a handler saw, how often.
struct Seen {
  std::mutex mutex;
  std::multiset<std::int64_t> offsets;
  void note(const Delivered& each) {
    const std::lock_guard lock{mutex};
    offsets.insert(each.event->offset);
  }
  std::size_t count() {
    const std::lock_guard lock{mutex};
    return offsets.size();
  }
};

}  // namespace

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

TEST_CASE("an exception of a handler is a failed attempt") {
  House house;
  house.run([](const Delivered&, const auto&) -> Verdict { throw std::runtime_error{"boom"}; });
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1})));
  REQUIRE(eventually([&] { return house.settler.counters().retried == 1; }));
  CHECK(house.database.failures().at(0).error_class == "exception");
  CHECK(house.database.failures().at(0).message == "boom");
}

TEST_CASE("a call past its deadline is charged and its slot comes back") {
  const auto door = std::make_shared<Door>();
  House house;
  auto settings = House::handler(1);
  settings.deadline = milliseconds{20};
  house.run(
      [door](const Delivered& each, const auto&) {
        if (each.event->offset == 2) door->pass();
        return Verdict{};
      },
      settings);
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return house.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return house.settler.counters().retried == 1; }));
  CHECK(house.database.failures().at(0).error_class == "deadline");
  CHECK(house.dispatcher.stats(7).abandoned == 1);
  CHECK(house.dispatcher.stats(7).deadlines == 1);
  door->unlock();
  CHECK(eventually([&] { return house.dispatcher.stats(7).abandoned == 0; }));
  CHECK(house.settler.counters().done == 3);
}

TEST_CASE("a call is told when its deadline has passed, and may still answer") {
  auto settings = House::handler(1);
  settings.deadline = milliseconds{5};
  auto limits = House::quick();
  limits.watch.grace = seconds{600};
  House patient{{}, limits};
  patient.run(
      [](const Delivered&, const plugin::Cancellation& cancellation) {
        while (!cancellation.requested) std::this_thread::yield();
        return retry("gave-up");
      },
      settings);
  REQUIRE(patient.caught_up());
  REQUIRE(patient.give(lease_of({1})));
  REQUIRE(eventually([&] { return patient.settler.counters().retried == 1; }));
  CHECK(patient.database.failures().at(0).error_class == "gave-up");
  CHECK(patient.dispatcher.stats(7).deadlines == 0);
}

TEST_CASE("a cancelled call does not cancel the next one") {
  std::atomic<int> cancelled{0};
  auto settings = House::handler(1);
  settings.deadline = milliseconds{5};
  auto limits = House::quick();
  limits.watch.grace = seconds{600};
  House patient{{}, limits};
  patient.run(
      [&](const Delivered& each, const plugin::Cancellation& cancellation) {
        if (each.event->offset == 2 && cancellation.requested) ++cancelled;
        while (each.event->offset == 1 && !cancellation.requested) std::this_thread::yield();
        return Verdict{};
      },
      settings);
  REQUIRE(patient.caught_up());
  REQUIRE(patient.give(lease_of({1, 2})));
  REQUIRE(eventually([&] { return patient.settler.counters().done == 2; }));
  CHECK(cancelled == 0);
}

TEST_CASE("a handler whose calls never return is stopped, gives back what it has, and goes on when they do") {
  const auto door = std::make_shared<Door>();
  House house;
  auto settings = House::handler(1);
  settings.deadline = milliseconds{5};
  house.run(
      [door](const Delivered&, const auto&) {
        door->pass();
        return Verdict{};
      },
      settings);
  REQUIRE(house.caught_up());
  for (std::int64_t id = 1; id <= 5; ++id) REQUIRE(house.give(lease_of({id}, id)));
  REQUIRE(eventually([&] { return house.dispatcher.stats(7).stopped; }));
  CHECK(house.dispatcher.stats(7).abandoned == 2);
  CHECK(eventually([&] { return house.database.all_given_back() == std::vector<std::int64_t>{3, 4, 5}; }));
  CHECK_FALSE(house.give(lease_of({9}, 9)));
  door->unlock();
  REQUIRE(eventually([&] { return !house.dispatcher.stats(7).stopped; }));
  house.database.add(lease_of({10, 11}, 10));
  CHECK(eventually([&] { return house.database.done() == 2; }));
}

TEST_CASE("events behind a slow call are taken by another worker") {
  const auto door = std::make_shared<Door>();
  House house;
  Seen seen;
  house.run([&, door](const Delivered& each, const auto&) {
    if (each.event->offset == 500) door->pass();
    seen.note(each);
    return Verdict{};
  });
  REQUIRE(house.caught_up());
  for (std::int64_t id = 0; id < 30; ++id) {  // it learns to take many at once
    REQUIRE(eventually([&] { return house.give(lease_of(offsets_from(1'000, 40), 100 + id)); }));
  }
  REQUIRE(eventually([&] { return house.database.done() == 30 * 40; }));
  REQUIRE(eventually([&] { return house.give(lease_of(offsets_from(500, 40), 1)); }));
  CHECK(eventually([&] { return seen.count() == 30 * 40 + 39; }));
  door->unlock();
  CHECK(eventually([&] { return house.database.done() == 31 * 40; }));
}

TEST_CASE("a slow handler gives back what is more than a second of its work") {
  const auto door = std::make_shared<Door>();
  House house;
  house.run([door](const Delivered&, const auto&) {
    door->pass();
    return Verdict{};
  });
  REQUIRE(house.caught_up());
  for (std::int64_t id = 1; id <= 6; ++id) REQUIRE(house.give(lease_of(offsets_from(id * 100, 10), id)));
  // Both workers are stuck in run 1; what is far more than they could do in a second leaves, the youngest first.
  CHECK(eventually([&] { return house.database.all_given_back() == std::vector<std::int64_t>{2, 3, 4, 5, 6}; }));
  CHECK(house.dispatcher.stats(7).backlog);
  CHECK_FALSE(house.give(lease_of({9'999}, 99)));
  door->unlock();
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

TEST_CASE("leases are renewed by name while a call runs") {
  const auto door = std::make_shared<Door>();
  House house;
  auto settings = House::handler(1);
  settings.lease = milliseconds{60};
  house.run(
      [door](const Delivered&, const auto&) {
        door->pass();
        return Verdict{};
      },
      settings);
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1}, 41)));
  CHECK(eventually([&] {
    return house.database.read([](const auto& it) { return std::count(it.renewed.begin(), it.renewed.end(), 41); }) >=
           3;
  }));
  door->unlock();
  CHECK(eventually([&] { return house.database.done() == 1; }));
}

TEST_CASE("a run whose lease has run out unrenewed is not called any more") {
  const auto door = std::make_shared<Door>();
  House house;
  auto settings = House::handler(1);
  settings.lease = milliseconds{40};
  Seen seen;
  house.run(
      [&, door](const Delivered& each, const auto&) {
        door->pass();
        seen.note(each);
        return Verdict{};
      },
      settings);
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1}, 1)));
  REQUIRE(eventually([&] { return door->inside == 1; }));
  REQUIRE(house.give(lease_of({2}, 2)));
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.away = true;
  }
  const auto until = std::chrono::steady_clock::now() + milliseconds{100};
  REQUIRE(eventually([&] { return std::chrono::steady_clock::now() > until; }));
  door->unlock();
  CHECK(eventually([&] { return house.dispatcher.stats(7).expired == 1; }));
  CHECK(seen.count() == 1);
  const std::lock_guard lock{house.database.mutex};
  house.database.away = false;
}

TEST_CASE("when the database comes back, work goes on by itself") {
  House house;
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.away = true;
  }
  house.run(say_done);
  house.database.add(lease_of({1, 2}));
  REQUIRE(eventually([&] { return house.database.read([](const auto& it) { return it.asked_in_vain; }) > 3; }));
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.away = false;
  }
  CHECK(eventually([&] { return house.database.done() == 2; }));
}

TEST_CASE("a handler whose claims are refused does not starve the others, and its leases are renewed") {
  const auto door = std::make_shared<Door>();
  House house;
  auto refused = House::handler(4);
  refused.lease = milliseconds{60};
  auto setups = House::setup(
      [door](const Delivered&, const auto&) {
        door->pass();
        return Verdict{};
      },
      refused);
  setups.push_back({8, House::handler(), std::make_unique<test::SayingInstance>(say_done), false});
  house.dispatcher.replace_handlers(std::move(setups));
  house.dispatcher.start();
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1}, 41)));
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.refused = {7};
  }
  REQUIRE(eventually([&] { return house.database.read([](const auto& it) { return it.refusals; }) >= 3; }));
  for (std::int64_t id = 1; id <= 5; ++id) {
    auto lease = lease_of(offsets_from(id * 100, 10), id);
    lease.handler_id = 8;
    house.database.add(std::move(lease));
  }
  CHECK(eventually([&] { return house.database.done() == 50; }));
  const auto renewals = [&] { return house.database.read([](const auto& it) { return it.renewed.size(); }); };
  const auto before = renewals();
  CHECK(eventually([&] { return renewals() >= before + 3; }));
  door->unlock();
}

TEST_CASE("a statement may take half of the shortest lease that is at stake, and as long as configured where none is") {
  const auto door = std::make_shared<Door>();
  House house;
  auto settings = House::handler(1);
  settings.lease = seconds{30};
  house.run(
      [door](const Delivered&, const auto&) {
        door->pass();
        return Verdict{};
      },
      settings);
  REQUIRE(house.caught_up());
  const auto longest = [&] { return house.database.read([](const auto& it) { return it.longest_statement; }); };
  CHECK(longest() == std::nullopt);
  REQUIRE(house.give(lease_of({1}, 41)));
  CHECK(eventually([&] { return longest() == seconds{15}; }));
  door->unlock();
  CHECK(eventually([&] { return longest() == std::nullopt; }));
}

TEST_CASE("at a stop running calls finish, and what is queued is given back uncharged") {
  const auto door = std::make_shared<Door>();
  House house;
  house.run(
      [door](const Delivered&, const auto&) {
        door->pass();
        return Verdict{};
      },
      House::handler(1));
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1, 2, 3}, 1)));
  REQUIRE(house.give(lease_of({4, 5}, 2)));
  REQUIRE(eventually([&] { return door->inside == 1; }));
  house.dispatcher.request_stop();
  CHECK_FALSE(house.give(lease_of({9}, 9)));
  door->unlock();
  house.dispatcher.join(std::chrono::steady_clock::now() + seconds{10});
  CHECK(house.database.done() == 1);
  CHECK(house.database.failures().empty());
  CHECK(house.database.all_given_back() == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("a call that outlasts the stop's deadline is given back uncharged") {
  const auto door = std::make_shared<Door>();
  House house;
  house.run(
      [door](const Delivered& each, const auto&) {
        if (each.event->offset == 2) door->pass();
        return Verdict{};
      },
      House::handler(1));
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1, 2, 3}, 1)));
  REQUIRE(eventually([&] { return door->inside == 1; }));
  house.dispatcher.request_stop();
  house.dispatcher.join(std::chrono::steady_clock::now() + milliseconds{10});
  CHECK(house.database.done() == 1);
  CHECK(house.database.failures().empty());
  CHECK(house.database.all_given_back() == std::vector<std::int64_t>{1});
  door->unlock();
}

TEST_CASE("a call that notices the end of the stop's deadline costs no attempt") {
  House house;
  std::atomic<bool> inside{false};
  house.run([&](const Delivered&, const plugin::Cancellation& cancellation) {
    inside = true;
    while (!cancellation.requested) std::this_thread::yield();
    return retry("cancelled");
  });
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1, 2, 3}, 1)));
  REQUIRE(eventually([&] { return inside.load(); }));
  house.dispatcher.request_stop();
  house.dispatcher.join(std::chrono::steady_clock::now() + milliseconds{5});
  CHECK(house.database.failures().empty());
  CHECK(house.database.all_given_back() == std::vector<std::int64_t>{1});
}

TEST_CASE("a reload keeps what is in hand and lets running calls end with the old instance") {
  const auto door = std::make_shared<Door>();
  House house;
  std::atomic<int> by_old{0};
  std::atomic<int> by_new{0};
  house.run(
      [&, door](const Delivered&, const auto&) {
        door->pass();
        ++by_old;
        return Verdict{};
      },
      House::handler(1));
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1, 2, 3}, 1)));
  REQUIRE(eventually([&] { return door->inside == 1; }));
  house.dispatcher.replace_handlers(House::setup([&](const Delivered&, const auto&) {
    ++by_new;
    return Verdict{};
  }));
  CHECK(eventually([&] { return by_new == 2; }));
  door->unlock();
  REQUIRE(eventually([&] { return house.database.done() == 3; }));
  CHECK(by_old == 1);
  CHECK(house.database.all_given_back().empty());
}

TEST_CASE("a handler that a reload drops gives back what it has queued") {
  const auto door = std::make_shared<Door>();
  House house;
  house.run(
      [door](const Delivered&, const auto&) {
        door->pass();
        return Verdict{};
      },
      House::handler(1));
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1}, 1)));
  REQUIRE(house.give(lease_of({2}, 2)));
  REQUIRE(eventually([&] { return door->inside == 1; }));
  house.dispatcher.replace_handlers({});
  CHECK(eventually([&] { return house.database.all_given_back() == std::vector<std::int64_t>{2}; }));
  CHECK_FALSE(house.give(lease_of({3}, 3)));
  door->unlock();
  CHECK(eventually([&] { return house.database.done() == 1; }));
}

TEST_CASE("a run handed over to a handler that was dropped meanwhile is given back") {
  House house;
  house.run(say_done);
  REQUIRE(house.caught_up());
  REQUIRE(house.dispatcher.reserve(7, 1, 100).events == 1);
  house.dispatcher.replace_handlers({});
  house.dispatcher.hand_over(lease_of({1}, 5), 1, 100);
  CHECK(eventually([&] { return house.database.all_given_back() == std::vector<std::int64_t>{5}; }));
  CHECK(house.dispatcher.idle());
}

TEST_CASE("a paused handler takes nothing and goes on when it is resumed") {
  House house;
  house.dispatcher.replace_handlers(House::setup(say_done, House::handler(), true));
  house.dispatcher.start();
  house.database.add(lease_of({1, 2}));
  CHECK_FALSE(house.give(lease_of({3}, 3)));
  CHECK(house.dispatcher.stats(7).paused);
  CHECK(house.database.read([](const auto& it) { return it.all_claims; }) == 0);
  house.dispatcher.set_paused(7, false);
  CHECK(eventually([&] { return house.database.done() == 2; }));
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

TEST_CASE("an event found after too many unclean ends is dead without being called again") {
  House house;
  Seen seen;
  auto killer = lease_of({1}, 1);
  killer.claims = 11;
  auto victim = lease_of({2}, 2);
  victim.claims = 10;
  house.database.add(std::move(killer));
  house.database.add(std::move(victim));
  house.run([&](const Delivered& each, const auto&) {
    seen.note(each);
    return Verdict{};
  });
  REQUIRE(eventually([&] { return house.settler.counters().dead == 1 && house.settler.counters().done == 1; }));
  CHECK(seen.offsets == std::multiset<std::int64_t>{2});
  CHECK(house.database.failures().at(0).error_class == "crashed");
}

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
  house.dispatcher.release(7, room.events, 1);
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

}  // namespace inboxd::dispatcher
