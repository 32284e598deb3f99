// Calls: what exceptions, deadlines and slowness do to a handler, its slots and its events.
#include <catch2/catch_test_macros.hpp>

#include "unit/dispatcher/fakes.hpp"

namespace inboxd::dispatcher {

using plugin::Delivered;
using plugin::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using test::behind;
using test::Door;
using test::House;
using test::lease_of;
using test::offsets_from;
using test::retry;
using test::Seen;

namespace {

config::Handler with_deadline(milliseconds deadline, int concurrency = 1, int events_per_call = 1) {
  auto settings = House::handler(concurrency, events_per_call);
  settings.deadline = deadline;
  return settings;
}

/// No call is given up: it is only told that its time is over.
Dispatcher::Limits patient_limits() {
  auto limits = House::quick();
  limits.watch.grace = seconds{600};
  return limits;
}

/// Whose call with that event waits behind the door.
test::Say behind_with(std::int64_t offset, const std::shared_ptr<Door>& door) {
  return [offset, door](const Delivered& each, const plugin::Cancellation&) {
    if (each.event->offset == offset) door->pass();
    return Verdict{};
  };
}

}  // namespace

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
  house.run(behind_with(2, door), with_deadline(milliseconds{20}));
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

TEST_CASE("of a call of several events that does not return the one that keeps it is charged, alone") {
  const auto door = std::make_shared<Door>();
  House house;
  house.run(behind_with(3, door), with_deadline(milliseconds{300}, 2, 4));
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return house.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return house.settler.counters().retried == 1; }));
  REQUIRE(house.database.failures().size() == 1);
  CHECK(house.database.failures().at(0).error_class == "deadline");
  CHECK(house.dispatcher.stats(7).deadlines == 2);
  door->unlock();
  CHECK(eventually([&] { return house.dispatcher.stats(7).abandoned == 0; }));
  CHECK(house.settler.counters().done == 3);
}

TEST_CASE("a handler that works on all of a call and stops in time has the slow event charged, alone") {
  const auto settings = with_deadline(milliseconds{300}, 1, 4);
  House patient{{}, patient_limits()};
  std::atomic<bool> is_one_slow{false};
  patient.run(
      [&](const Delivered& each, const plugin::Cancellation& cancellation) {
        // Of a call with the slow one in it nothing comes through. It stands last.
        if (each.event->offset == 1 && !is_one_slow.exchange(true)) {
          while (!cancellation.requested) std::this_thread::yield();
        }
        while (each.event->offset == 4 && !cancellation.requested) std::this_thread::yield();
        return cancellation.requested ? retry("cancelled") : Verdict{};
      },
      settings);
  REQUIRE(patient.caught_up());
  REQUIRE(patient.give(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return patient.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return patient.settler.counters().retried == 1; }));
  REQUIRE(patient.database.failures().size() == 1);
  CHECK(patient.database.failures().at(0).error_class == "cancelled");
}

TEST_CASE("of a call that took too long the slow event is charged, and what the handler did not come to is not") {
  const auto settings = with_deadline(milliseconds{300}, 1, 4);
  House patient{{}, patient_limits()};
  patient.run(
      [](const Delivered& each, const plugin::Cancellation& cancellation) {
        if (cancellation.requested) return retry("cancelled");
        if (each.event->offset != 2) return Verdict{};
        while (!cancellation.requested) std::this_thread::yield();
        return retry("timeout");
      },
      settings);
  REQUIRE(patient.caught_up());
  REQUIRE(patient.give(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return patient.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return patient.settler.counters().retried == 1; }));
  REQUIRE(patient.database.failures().size() == 1);
  CHECK(patient.database.failures().at(0).error_class == "timeout");
}

TEST_CASE("calls of several events that never return are charged, one event each, before the handler is stopped") {
  const auto door = std::make_shared<Door>();
  House house;
  const auto settings = with_deadline(milliseconds{100}, 1, 2);
  house.run(behind(door), settings);
  REQUIRE(house.caught_up());
  for (std::int64_t id = 1; id <= 4; ++id) REQUIRE(house.give(lease_of({2 * id, 2 * id + 1}, id)));
  REQUIRE(eventually([&] { return house.dispatcher.stats(7).stopped; }));
  CHECK(house.dispatcher.stats(7).abandoned == 3);  // one of two events, then each alone
  CHECK(eventually([&] { return house.database.failures().size() == 2; }));
  door->unlock();
  CHECK(eventually([&] { return !house.dispatcher.stats(7).stopped; }));
}

TEST_CASE("a reload neither forgets how many calls were given up nor the threads that are still in one") {
  const auto first = std::make_shared<Door>(), second = std::make_shared<Door>();
  House house;
  const auto settings = with_deadline(milliseconds{200});
  const auto at_doors = [first, second](const Delivered& each, const auto&) {
    (each.event->offset == 1 ? first : second)->pass();
    return Verdict{};
  };
  house.run(at_doors, settings);
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1}, 1)));
  REQUIRE(eventually([&] { return house.dispatcher.stats(7).abandoned == 1; }));
  REQUIRE(house.give(lease_of({2}, 2)));
  REQUIRE(eventually([&] { return second->inside == 1; }));

  house.dispatcher.replace_handlers(House::setup(at_doors, settings));
  CHECK(house.dispatcher.stats(7).abandoned >= 1);
  CHECK(house.dispatcher.stats(7).deadlines >= 1);
  // Also what the old crew gives up from now on.
  CHECK(eventually([&] { return house.dispatcher.stats(7).abandoned == 2; }));
  CHECK(house.dispatcher.stats(7).deadlines == 2);
  CHECK_FALSE(house.dispatcher.stats(7).stopped);  // the new crew has lost nobody
  first->unlock();
  second->unlock();
  CHECK(eventually([&] { return house.dispatcher.stats(7).abandoned == 0; }));
  CHECK(house.dispatcher.stats(7).deadlines == 2);
}

TEST_CASE("a call is told when its deadline has passed, and may still answer") {
  const auto settings = with_deadline(milliseconds{5});
  House patient{{}, patient_limits()};
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
  const auto settings = with_deadline(milliseconds{5});
  House patient{{}, patient_limits()};
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
  const auto settings = with_deadline(milliseconds{5});
  house.run(behind(door), settings);
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

}  // namespace inboxd::dispatcher
