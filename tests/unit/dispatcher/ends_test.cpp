// What ends in good order: a stop, a reload, a pause.
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
using test::retry;
using test::say_done;

namespace {

/// An instance of a plugin whose `destroy` waits there.
class SlowToEnd final : public plugin::Instance {
 public:
  explicit SlowToEnd(std::shared_ptr<Door> door) : door_{std::move(door)} {}
  ~SlowToEnd() override { door_->pass(); }
  SlowToEnd(const SlowToEnd&) = delete;
  SlowToEnd& operator=(const SlowToEnd&) = delete;
  std::vector<Verdict> handle(std::span<const Delivered> events, const plugin::Cancellation&,
                              std::chrono::steady_clock::time_point) override {
    return std::vector<Verdict>(events.size());
  }

 private:
  std::shared_ptr<Door> door_;
};

std::vector<dispatcher::HandlerSetup> setup_slow_to_end(const std::shared_ptr<Door>& door) {
  std::vector<dispatcher::HandlerSetup> out;
  out.push_back({7, House::handler(), std::make_unique<SlowToEnd>(door), false});
  return out;
}

/// A stop leaves the thread of an instance that waits there, until it is let through.
void check_left_at_a_stop(House& house, Door& door) {
  house.dispatcher.request_stop();
  house.dispatcher.join(std::chrono::steady_clock::now());
  CHECK(house.dispatcher.has_left_calls());
  door.unlock();
  CHECK(eventually([&] { return !house.dispatcher.has_left_calls(); }));
}

}  // namespace

TEST_CASE("a plugin that does not end its instance holds up no call's deadline, no reload and no stop") {
  const auto door = std::make_shared<Door>(), call = std::make_shared<Door>();
  House house;
  house.dispatcher.replace_handlers(setup_slow_to_end(door));
  house.dispatcher.start();
  auto settings = House::handler(1);
  settings.deadline = milliseconds{50};
  house.dispatcher.replace_handlers(House::setup(behind(call), settings));
  REQUIRE(eventually([&] { return door->inside == 1; }));

  REQUIRE(house.caught_up());
  REQUIRE(house.give(lease_of({1}, 1)));
  CHECK(eventually([&] { return house.dispatcher.stats(7).abandoned == 1; }));
  call->unlock();
  REQUIRE(eventually([&] { return house.dispatcher.stats(7).abandoned == 0; }));
  house.dispatcher.replace_handlers(House::setup(say_done));
  CHECK_FALSE(house.dispatcher.has_left_calls());

  check_left_at_a_stop(house, *door);
}

TEST_CASE("an instance that does not end holds up the end of no other, and what is discarded ends in its own time") {
  const auto door = std::make_shared<Door>(), other = std::make_shared<Door>();
  House house;
  house.dispatcher.start();
  house.dispatcher.discard(setup_slow_to_end(door));
  REQUIRE(eventually([&] { return door->inside == 1; }));
  house.dispatcher.discard(setup_slow_to_end(other));
  CHECK(eventually([&] { return other->inside == 1; }));
  other->unlock();
  check_left_at_a_stop(house, *door);
}

TEST_CASE("a stop gives plugins until its deadline to end their instances") {
  const auto door = std::make_shared<Door>();
  House house;
  house.dispatcher.replace_handlers(setup_slow_to_end(door));
  house.dispatcher.start();
  house.dispatcher.request_stop();
  std::thread stop{[&] { house.dispatcher.join(std::chrono::steady_clock::now() + seconds{60}); }};
  CHECK(eventually([&] { return door->inside == 1; }));
  door->unlock();
  stop.join();
  CHECK_FALSE(house.dispatcher.has_left_calls());
}

TEST_CASE("at a stop running calls finish, and what is queued is given back uncharged") {
  const auto door = std::make_shared<Door>();
  House house;
  house.run(behind(door), House::handler(1));
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
  house.run(behind(door), House::handler(1));
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
  house.dispatcher.hand_over(lease_of({1}, 5), 1);
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

}  // namespace inboxd::dispatcher
