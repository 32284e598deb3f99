// A stop, a reload, a pause.
#include <catch2/catch_test_macros.hpp>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using event::Verdict;
using plugin::Delivered;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using test::block_on;
using test::DispatcherFixture;
using test::handle_done;
using test::Latch;
using test::lease_of;
using test::retry;

namespace {

/// An instance that waits for the latch in `destroy`.
class SlowToEnd final : public plugin::Instance {
 public:
  explicit SlowToEnd(std::shared_ptr<Latch> latch) : latch_{std::move(latch)} {}
  ~SlowToEnd() override { latch_->wait(); }
  SlowToEnd(const SlowToEnd&) = delete;
  SlowToEnd& operator=(const SlowToEnd&) = delete;
  std::vector<Verdict> handle(std::span<const Delivered> events, const plugin::Cancellation&,
                              std::chrono::steady_clock::time_point) override {
    return std::vector<Verdict>(events.size());
  }

 private:
  std::shared_ptr<Latch> latch_;
};

std::vector<dispatcher::HandlerSetup> setup_slow_to_end(const std::shared_ptr<Latch>& latch) {
  std::vector<dispatcher::HandlerSetup> out;
  out.push_back({7, DispatcherFixture::handler(), std::make_unique<SlowToEnd>(latch), false});
  return out;
}

/// A stop leaves the thread of a blocked instance behind, until the latch opens.
void check_left_at_a_stop(DispatcherFixture& fixture, Latch& latch) {
  fixture.dispatcher.request_stop();
  fixture.dispatcher.join(std::chrono::steady_clock::now());
  CHECK(fixture.dispatcher.has_left_calls());
  latch.open();
  CHECK(eventually([&] { return !fixture.dispatcher.has_left_calls(); }));
}

}  // namespace

TEST_CASE("an instance that does not end delays no call's deadline, no reload and no stop") {
  const auto latch = std::make_shared<Latch>(), call = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.dispatcher.replace_handlers(setup_slow_to_end(latch));
  fixture.dispatcher.start();
  auto settings = DispatcherFixture::handler(1);
  settings.deadline = milliseconds{50};
  fixture.dispatcher.replace_handlers(DispatcherFixture::setup(block_on(call), settings));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));

  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1}, 1)));
  CHECK(eventually([&] { return fixture.dispatcher.stats(7).abandoned == 1; }));
  call->open();
  REQUIRE(eventually([&] { return fixture.dispatcher.stats(7).abandoned == 0; }));
  fixture.dispatcher.replace_handlers(DispatcherFixture::setup(handle_done));
  CHECK_FALSE(fixture.dispatcher.has_left_calls());

  check_left_at_a_stop(fixture, *latch);
}

TEST_CASE("an instance that does not end delays no other, and a discarded one may take its time") {
  const auto latch = std::make_shared<Latch>(), other = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.dispatcher.start();
  fixture.dispatcher.discard(setup_slow_to_end(latch));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  fixture.dispatcher.discard(setup_slow_to_end(other));
  CHECK(eventually([&] { return other->waiting == 1; }));
  other->open();
  check_left_at_a_stop(fixture, *latch);
}

TEST_CASE("a stop gives instances until its deadline to end") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.dispatcher.replace_handlers(setup_slow_to_end(latch));
  fixture.dispatcher.start();
  fixture.dispatcher.request_stop();
  std::thread stop{[&] { fixture.dispatcher.join(std::chrono::steady_clock::now() + seconds{60}); }};
  CHECK(eventually([&] { return latch->waiting == 1; }));
  latch->open();
  stop.join();
  CHECK_FALSE(fixture.dispatcher.has_left_calls());
}

TEST_CASE("at a stop running calls finish, and queued events are released, uncharged") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.run(block_on(latch), DispatcherFixture::handler(1));
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3}, 1)));
  REQUIRE(fixture.ingest(lease_of({4, 5}, 2)));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  fixture.dispatcher.request_stop();
  CHECK_FALSE(fixture.ingest(lease_of({9}, 9)));
  latch->open();
  fixture.dispatcher.join(std::chrono::steady_clock::now() + seconds{10});
  CHECK(fixture.database.done() == 1);
  CHECK(fixture.database.failures().empty());
  CHECK(fixture.database.all_released() == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("the events of a call that outlasts the stop's deadline are released, uncharged") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.run(
      [latch](const Delivered& each, const auto&) {
        if (each.event->offset == 2) latch->wait();
        return Verdict{};
      },
      DispatcherFixture::handler(1));
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3}, 1)));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  fixture.dispatcher.request_stop();
  fixture.dispatcher.join(std::chrono::steady_clock::now() + milliseconds{10});
  CHECK(fixture.database.done() == 1);
  CHECK(fixture.database.failures().empty());
  CHECK(fixture.database.all_released() == std::vector<std::int64_t>{1});
  latch->open();
}

TEST_CASE("a call that is cancelled at the stop's deadline costs no attempt") {
  DispatcherFixture fixture;
  std::atomic<bool> inside{false};
  fixture.run([&](const Delivered&, const plugin::Cancellation& cancellation) {
    inside = true;
    while (!cancellation.requested) std::this_thread::yield();
    return retry("cancelled");
  });
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3}, 1)));
  REQUIRE(eventually([&] { return inside.load(); }));
  fixture.dispatcher.request_stop();
  fixture.dispatcher.join(std::chrono::steady_clock::now() + milliseconds{5});
  CHECK(fixture.database.failures().empty());
  CHECK(fixture.database.all_released() == std::vector<std::int64_t>{1});
}

TEST_CASE("a reload keeps the events in flight and lets running calls end with the old instance") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  std::atomic<int> by_old{0};
  std::atomic<int> by_new{0};
  fixture.run(
      [&, latch](const Delivered&, const auto&) {
        latch->wait();
        ++by_old;
        return Verdict{};
      },
      DispatcherFixture::handler(1));
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3}, 1)));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  fixture.dispatcher.replace_handlers(DispatcherFixture::setup([&](const Delivered&, const auto&) {
    ++by_new;
    return Verdict{};
  }));
  CHECK(eventually([&] { return by_new == 2; }));
  latch->open();
  REQUIRE(eventually([&] { return fixture.database.done() == 3; }));
  CHECK(by_old == 1);
  CHECK(fixture.database.all_released().empty());
}

TEST_CASE("a handler removed by a reload releases its queued events") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.run(block_on(latch), DispatcherFixture::handler(1));
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1}, 1)));
  REQUIRE(fixture.ingest(lease_of({2}, 2)));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  fixture.dispatcher.replace_handlers({});
  CHECK(eventually([&] { return fixture.database.all_released() == std::vector<std::int64_t>{2}; }));
  CHECK_FALSE(fixture.ingest(lease_of({3}, 3)));
  latch->open();
  CHECK(eventually([&] { return fixture.database.done() == 1; }));
}

TEST_CASE("a run handed over to a handler that was removed meanwhile is released") {
  DispatcherFixture fixture;
  fixture.run(handle_done);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.dispatcher.reserve(7, 1, 100).events == 1);
  fixture.dispatcher.replace_handlers({});
  fixture.dispatcher.hand_over(lease_of({1}, 5), 1);
  CHECK(eventually([&] { return fixture.database.all_released() == std::vector<std::int64_t>{5}; }));
  CHECK(fixture.dispatcher.idle());
}

TEST_CASE("a paused handler takes nothing until it is resumed") {
  DispatcherFixture fixture;
  fixture.dispatcher.replace_handlers(DispatcherFixture::setup(handle_done, DispatcherFixture::handler(), true));
  fixture.dispatcher.start();
  fixture.database.add(lease_of({1, 2}));
  CHECK_FALSE(fixture.ingest(lease_of({3}, 3)));
  CHECK(fixture.dispatcher.stats(7).paused);
  CHECK(fixture.database.read([](const auto& it) { return it.all_claims; }) == 0);
  fixture.dispatcher.set_paused(7, false);
  CHECK(eventually([&] { return fixture.database.done() == 2; }));
}

}  // namespace inboxd::dispatcher
