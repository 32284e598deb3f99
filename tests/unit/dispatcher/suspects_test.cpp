// Deliveries that were in hand at several unclean ends: one of them may be what ends the process.
#include <catch2/catch_test_macros.hpp>

#include "unit/dispatcher/fakes.hpp"

namespace inboxd::dispatcher {

using plugin::Delivered;
using plugin::Verdict;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using test::Door;
using test::House;
using test::lease_of;

namespace {

constexpr std::int32_t suspect_claims = inbox::suspected_after + 1;

inbox::LeasedRun lease_after(std::int32_t claims, std::int64_t id, std::int32_t handler_id = 7) {
  auto lease = lease_of({id}, id, 0, handler_id);
  lease.claims = claims;
  return lease;
}

config::Dispatch never_polling() {
  config::Dispatch settings;
  settings.poll = seconds{600};
  return settings;
}

/// Notes which handler is called, and how many suspects are in calls at most.
struct Watch {
  std::mutex mutex;
  std::vector<std::int32_t> order;
  std::set<std::int64_t> suspects;
  int inside = 0;
  int most_inside = 0;

  test::Say say(std::int32_t handler_id, std::shared_ptr<Door> door = nullptr) {
    return [this, handler_id, door](const Delivered& each, const auto&) {
      const std::int64_t offset = each.event->offset;
      if (!suspects.contains(offset)) return Verdict{};
      {
        const std::lock_guard lock{mutex};
        order.push_back(handler_id);
        most_inside = std::max(most_inside, ++inside);
      }
      if (door) door->pass();
      const std::lock_guard lock{mutex};
      --inside;
      return Verdict{};
    };
  }
};

/// Handlers 7 and 8.
std::vector<HandlerSetup> two_handlers(test::Say one, test::Say other) {
  auto out = House::setup(std::move(one));
  out.push_back({8, House::handler(), std::make_unique<test::SayingInstance>(std::move(other)), false});
  return out;
}

}  // namespace

TEST_CASE("while a suspect is in hand no other is taken, of any handler, and all that is none goes on") {
  const auto door = std::make_shared<Door>();
  Watch watch;
  watch.suspects = {1, 2};
  House house{never_polling()};
  house.database.add(lease_after(suspect_claims, 1, 7));
  house.database.add(lease_after(suspect_claims, 2, 8));
  for (std::int64_t id = 101; id <= 120; ++id) house.database.add(lease_after(1, id, id % 2 == 0 ? 7 : 8));
  house.dispatcher.replace_handlers(two_handlers(watch.say(7, door), watch.say(8, door)));
  house.dispatcher.start();
  REQUIRE(eventually([&] { return door->inside == 1 && house.database.done() == 20; }));
  CHECK(house.database.read([](const auto& it) { return it.due.size(); }) == 1);
  door->unlock();
  REQUIRE(eventually([&] { return house.database.done() == 22; }));
  CHECK(watch.most_inside == 1);
}

TEST_CASE("suspects in front keep nothing waiting, and follow one another without the wait for a poll") {
  const auto door = std::make_shared<Door>();
  Watch watch;
  House house{never_polling()};
  for (std::int64_t id = 1; id <= 40; ++id) {
    watch.suspects.insert(id);
    house.database.add(lease_after(suspect_claims, id));
  }
  for (std::int64_t id = 101; id <= 120; ++id) house.database.add(lease_after(1, id));
  house.run(watch.say(7, door));
  REQUIRE(eventually([&] { return door->inside == 1 && house.database.done() == 20; }));
  door->unlock();
  REQUIRE(eventually([&] { return house.database.done() == 60; }));
  CHECK(watch.most_inside == 1);
}

TEST_CASE("the suspects of several handlers take turns") {
  Watch watch;
  House house{never_polling()};
  for (std::int64_t id = 1; id <= 20; ++id) {
    watch.suspects.insert(id);
    house.database.add(lease_after(suspect_claims, id, id <= 10 ? 7 : 8));
  }
  house.dispatcher.replace_handlers(two_handlers(watch.say(7), watch.say(8)));
  house.dispatcher.start();
  REQUIRE(eventually([&] { return house.database.done() == 20; }));
  const std::lock_guard lock{watch.mutex};
  for (std::size_t i = 1; i < watch.order.size(); ++i) CHECK(watch.order[i] != watch.order[i - 1]);
}

namespace {

constexpr std::int32_t few_chances = 8;

/// A suspect with few chances left that is due, beside a call of another handler that waits behind the door.
struct Beside {
  explicit Beside(const Dispatcher::Limits& limits) : house{never_polling(), limits} {
    watch.suspects = {1, 2};
    auto other = lease_of({2}, 2, 0, 8);
    auto suspect = lease_after(few_chances, 1);
    house.database.add(std::move(other));
    house.dispatcher.replace_handlers(two_handlers(watch.say(7, at_suspect), watch.say(8, at_other)));
    house.dispatcher.start();
    REQUIRE(eventually([&] { return at_other->inside == 1 && house.caught_up(); }));
    {
      const std::lock_guard lock{house.database.mutex};
      house.database.kept.emplace(1, suspect);
    }
    house.database.add(std::move(suspect));
    house.dispatcher.born_due(7);
  }
  bool gave_back_suspect() {
    return house.database.read([](const auto& it) { return it.given_back == std::vector<std::int64_t>{1}; });
  }

  const std::shared_ptr<Door> at_suspect = std::make_shared<Door>();
  const std::shared_ptr<Door> at_other = std::make_shared<Door>();
  Watch watch;
  House house;
};

}  // namespace

TEST_CASE("a suspect with few chances left waits until calls under way have ended, and nothing is taken beside it") {
  Beside beside{House::quick()};
  House& house = beside.house;
  REQUIRE(eventually([&] { return beside.gave_back_suspect(); }));
  CHECK(beside.at_suspect->inside == 0);
  beside.at_other->unlock();
  REQUIRE(eventually([&] { return beside.at_suspect->inside == 1; }));
  CHECK(house.database.done() == 1);
  // The other handler's room is closed, too.
  house.database.add(lease_of({3}, 3, 0, 8));
  CHECK(house.dispatcher.reserve(8, 1, 100).events == 0);
  house.dispatcher.born_due(8);
  CHECK(house.database.done() == 1);
  beside.at_suspect->unlock();
  REQUIRE(eventually([&] { return house.database.done() == 3; }));
  REQUIRE(eventually([&] { return house.dispatcher.idle(); }));
  CHECK(house.dispatcher.reserve(8, 1, 100).events == 1);
  house.dispatcher.release(8, 1);
}

TEST_CASE("neither calls that take long nor a suspect that does keep all waiting without end") {
  auto limits = House::quick();
  limits.claimer.aside.emptying = limits.claimer.aside.running = milliseconds{30};
  Beside beside{limits};
  House& house = beside.house;
  REQUIRE(eventually([&] { return beside.at_suspect->inside == 1; }));
  CHECK(beside.at_other->inside == 1);
  house.database.add(lease_of({3}, 3, 0, 8));
  CHECK(eventually([&] { return house.database.done() == 1; }));
  beside.at_suspect->unlock();
  beside.at_other->unlock();
  CHECK(eventually([&] { return house.database.done() == 3; }));
}

TEST_CASE("after a suspect had its chance alone, others are passed over for ten times as long as it took") {
  Aside aside{{}};
  const auto begin = Aside::Clock::now();
  CHECK_FALSE(aside.is_resting(begin));
  aside.begin(7, {}, begin);
  const auto end = begin + seconds{2};
  CHECK(aside.turn({}, end) == nullptr);
  aside.review({}, false, end);
  CHECK_FALSE(aside.is_on());
  CHECK(aside.is_resting(end + seconds{19}));
  CHECK_FALSE(aside.is_resting(end + seconds{20}));
}

TEST_CASE("a suspect whose chance comes after another's stops nobody until then") {
  auto limits = House::quick();
  limits.claimer.aside.emptying = seconds{1};
  Beside beside{limits};
  House& house = beside.house;
  // The other handler's call keeps the first from being alone, so it took a second, and ten are the others'.
  REQUIRE(eventually([&] { return beside.at_suspect->inside == 1; }));
  auto next = lease_after(few_chances, 4);
  {
    const std::lock_guard lock{house.database.mutex};
    house.database.kept.emplace(4, next);
  }
  house.database.add(std::move(next));
  beside.at_suspect->unlock();
  REQUIRE(eventually([&] { return house.database.done() == 1; }));
  house.dispatcher.born_due(7);
  house.database.add(lease_of({3}, 3, 0, 8));
  house.dispatcher.born_due(8);
  beside.at_other->unlock();
  CHECK(eventually([&] { return house.database.done() == 3; }));
  CHECK(beside.gave_back_suspect());  // the first alone: nobody has been stopped for the next
}

}  // namespace inboxd::dispatcher
