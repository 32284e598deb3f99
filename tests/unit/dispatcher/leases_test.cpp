// Leases that run out, and a database that is away.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

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
using test::say_done;
using test::Seen;

TEST_CASE("leases are renewed by name while a call runs") {
  const auto door = std::make_shared<Door>();
  House house;
  auto settings = House::handler(1);
  settings.lease = milliseconds{60};
  house.run(behind(door), settings);
  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1}, 41)));
  CHECK(eventually([&] {
    return house.database.read([](const auto& it) { return std::count(it.renewed.begin(), it.renewed.end(), 41); }) >=
           3;
  }));
  door->unlock();
  CHECK(eventually([&] { return house.database.done() == 1; }));
}

TEST_CASE("leases that a reload has made shorter are renewed in their own time, not in that of the longer ones") {
  const auto door = std::make_shared<Door>();
  House house;
  auto settings = House::handler(1);
  settings.lease = std::chrono::hours{1};
  house.run(behind(door), settings);
  REQUIRE(house.caught_up());
  settings.lease = milliseconds{60};
  house.dispatcher.replace_handlers(House::setup(behind(door), settings));
  // A reload may have it look for a backlog once more; until it has, nothing is born.
  REQUIRE(eventually([&] { return house.give(lease_of({1}, 41)); }));
  CHECK(eventually([&] {
    return house.database.read([](const auto& it) { return std::count(it.renewed.begin(), it.renewed.end(), 41); }) >=
           3;
  }));
  door->unlock();
  CHECK(eventually([&] { return house.database.done() == 1; }));
}

TEST_CASE("a run that was stored while a reload made the lease longer is renewed by the lease that it has") {
  auto settings = House::handler();
  settings.lease = seconds{5};
  const auto hand = std::make_shared<InHand>(7, settings, seconds{1}, std::make_shared<Shared>(1'000, 1 << 20));
  const auto now = InHand::Clock::now();
  const auto look = hand->begin_claim(now);
  REQUIRE(look);
  hand->end_claim(*look, {}, now, false);
  const auto room = hand->reserve(1, 100);
  REQUIRE(room.events == 1);
  settings.lease *= 60;
  hand->configure(settings);
  hand->hand_over(lease_of({1}, 41), 1);
  const auto renewal = hand->to_renew(now + room.lease / 2);
  REQUIRE(renewal.runs.size() == 1);
  CHECK(renewal.lease == settings.lease);
  hand->lost(*renewal.runs[0]);  // what is in hand holds it
}

TEST_CASE("a run whose lease has run out unrenewed is not called any more, and given back uncharged") {
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
  std::this_thread::sleep_for(3 * settings.lease);  // nothing but the clock tells that a lease has run out
  door->unlock();
  CHECK(eventually([&] { return house.dispatcher.stats(7).expired == 1; }));
  CHECK(seen.count() == 1);
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.away = false;
  }
  CHECK(eventually([&] { return house.database.all_given_back() == std::vector<std::int64_t>{2}; }));
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

TEST_CASE("what a claim took whose answer was lost is given back when the database answers again") {
  House house;
  house.run(say_done);
  REQUIRE(house.caught_up());
  const auto set_away = [&](bool away) {
    const std::lock_guard lock{house.database.mutex};
    house.database.away = away;
  };
  const auto lost = [&] { return house.database.read([](const auto& it) { return it.fences_in_vain; }); };
  set_away(true);
  house.dispatcher.born_due(7);
  REQUIRE(eventually([&] { return !lost().empty(); }));
  set_away(false);
  CHECK(eventually(
      [&] { return house.database.read([](const auto& it) { return it.fences_given_back == it.fences_in_vain; }); }));
  CHECK(lost().front() != 0);
}

TEST_CASE("a handler whose claims are refused does not starve the others, and its leases are renewed") {
  const auto door = std::make_shared<Door>();
  House house;
  auto refused = House::handler(4);
  refused.lease = milliseconds{60};
  auto setups = House::setup(behind(door), refused);
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
  house.run(behind(door), settings);
  REQUIRE(house.caught_up());
  const auto longest = [&] { return house.database.read([](const auto& it) { return it.longest_statement; }); };
  CHECK(longest() == std::nullopt);
  REQUIRE(house.give(lease_of({1}, 41)));
  CHECK(eventually([&] { return longest() == seconds{15}; }));
  door->unlock();
  CHECK(eventually([&] { return longest() == std::nullopt; }));
}

TEST_CASE("an event found after too many unclean ends is dead without being called again") {
  House house;
  Seen seen;
  auto settings = House::handler();
  settings.max_crashes = GENERATE(10, 4, 50);
  auto killer = lease_of({1}, 1);
  killer.claims = settings.max_crashes + 1;
  auto victim = lease_of({2}, 2);
  victim.claims = settings.max_crashes;
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.kept.emplace(2, victim);
  }
  house.database.add(std::move(killer));
  house.database.add(std::move(victim));
  house.run(
      [&](const Delivered& each, const auto&) {
        seen.note(each);
        return Verdict{};
      },
      settings);
  REQUIRE(eventually([&] { return house.settler.counters().dead == 1 && house.settler.counters().done == 1; }));
  CHECK(seen.offsets == std::multiset<std::int64_t>{2});
  CHECK(house.database.failures().at(0).error_class == "crashed");
}

}  // namespace inboxd::dispatcher
