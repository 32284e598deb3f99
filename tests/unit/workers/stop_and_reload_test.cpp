// A stop, a reload, a pause.
#include <catch2/catch_test_macros.hpp>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using namespace test;

/// An instance that waits for the latch in `destroy`.
class SlowToEnd final : public plugin::Instance {
 public:
  explicit SlowToEnd(Latch latch) : latch_{std::move(latch)} {}
  ~SlowToEnd() override { latch_.wait(); }
  SlowToEnd(const SlowToEnd&) = delete;
  SlowToEnd& operator=(const SlowToEnd&) = delete;
  std::vector<event::Verdict> handle(std::span<const plugin::Delivered> events, const plugin::Cancellation&,
                                     std::chrono::steady_clock::time_point) override {
    return std::vector<event::Verdict>(events.size());
  }

 private:
  Latch latch_;
};

test::Setups slow_to_end(const Latch& latch) { return test::setup(std::make_unique<SlowToEnd>(latch)); }

/// A stop leaves the thread of a blocked instance behind, until the latch opens.
void check_left_at_a_stop(DispatcherFixture& it, const Latch& latch) {
  it.stop();
  CHECK(it.dispatcher.has_left_calls());
  latch.open();
  CHECK(eventually([&] { return !it.dispatcher.has_left_calls(); }));
}

}  // namespace

TEST_CASE("an instance that does not end delays no call's deadline, no reload and no stop") {
  const Latch latch, call;
  DispatcherFixture it;
  it.start(slow_to_end(latch));
  it.reload(block_on(call), handler({.concurrency = 1, .deadline = 50ms}));
  REQUIRE(latch.blocks());
  REQUIRE(it.caught_up());
  it.ingest({1});
  CHECK(it.abandoned(1));
  call.open();
  REQUIRE(it.abandoned(0));
  it.reload(handle_done);
  CHECK_FALSE(it.dispatcher.has_left_calls());
  check_left_at_a_stop(it, latch);
}

TEST_CASE("an instance that does not end delays no other, and a discarded one may take its time") {
  const Latch latch, other;
  DispatcherFixture it;
  it.dispatcher.start();
  it.dispatcher.discard(slow_to_end(latch));
  REQUIRE(latch.blocks());
  it.dispatcher.discard(slow_to_end(other));
  CHECK(other.blocks());
  other.open();
  check_left_at_a_stop(it, latch);
}

TEST_CASE("a stop gives instances until its deadline to end") {
  const Latch latch;
  DispatcherFixture it;
  it.start(slow_to_end(latch));
  std::thread stop{[&] { it.stop(60s); }};
  CHECK(latch.blocks());
  latch.open();
  stop.join();
  CHECK_FALSE(it.dispatcher.has_left_calls());
}

TEST_CASE("at a stop running calls finish until its deadline, and other events are released, uncharged") {
  const Latch latch;
  DispatcherFixture it;
  it.run(block_on(latch, 2), handler({.concurrency = 1}));
  it.ingest({1, 2, 3}, 1);
  it.ingest({4, 5}, 2);
  REQUIRE(latch.blocks());
  it.dispatcher.request_stop();
  CHECK_FALSE(it.may_ingest(lease_of({9}, 9)));
  SECTION("the running call ends") {
    latch.open();
    it.stop(10s);
    CHECK(it.database.done() == 2);
  }
  SECTION("the running call outlasts the deadline") {
    it.stop(10ms);
    CHECK(it.database.done() == 1);
  }
  CHECK(it.failures().empty());
  CHECK(it.database.all_released() == test::Ids{1, 2});
  latch.open();
}

TEST_CASE("a call that is cancelled at the stop's deadline costs no attempt") {
  std::atomic<bool> inside{false};
  DispatcherFixture it;
  it.run([&](const auto&, const auto& cancellation) {
    inside = true;
    test::wait_for(cancellation);
    return test::retry("cancelled");
  });
  it.ingest({1, 2, 3});
  REQUIRE(eventually([&] { return inside.load(); }));
  it.stop(5ms);
  CHECK(it.failures().empty());
  CHECK(it.database.all_released() == test::Ids{1});
}

TEST_CASE("a reload keeps the events in flight and lets running calls end with the old instance") {
  const Latch latch;
  std::atomic<int> by_old{0}, by_new{0};
  DispatcherFixture it;
  it.run(
      [&, latch](std::int64_t) {
        latch.wait();
        ++by_old;
      },
      handler({.concurrency = 1}));
  it.ingest({1, 2, 3});
  REQUIRE(latch.blocks());
  it.reload([&](std::int64_t) { ++by_new; });
  CHECK(eventually([&] { return by_new == 2; }));
  latch.open();
  REQUIRE(it.done(3));
  CHECK(by_old == 1);
  CHECK(it.database.all_released().empty());
}

TEST_CASE("a handler removed by a reload releases its queued events") {
  const Latch latch;
  DispatcherFixture it;
  it.run(block_on(latch), handler({.concurrency = 1}));
  it.ingest({1}, 1);
  it.ingest({2}, 2);
  REQUIRE(latch.blocks());
  it.dispatcher.replace_handlers({});
  CHECK(it.released({2}));
  CHECK_FALSE(it.may_ingest(lease_of({3}, 3)));
  latch.open();
  CHECK(it.done(1));
}

TEST_CASE("a run handed over to a handler that was removed meanwhile is released") {
  DispatcherFixture it;
  it.run(handle_done);
  REQUIRE(it.dispatcher.reserve(7, 1, 100).events == 1);
  it.dispatcher.replace_handlers({});
  it.dispatcher.hand_over(lease_of({1}, 5), 1);
  CHECK(it.released({5}));
  CHECK(it.dispatcher.idle());
}

TEST_CASE("a paused handler takes nothing until it is resumed") {
  DispatcherFixture it;
  auto paused = test::setup(handle_done);
  paused[0].paused = true;
  it.start(std::move(paused));
  it.database.add(lease_of({1, 2}));
  CHECK_FALSE(it.may_ingest(lease_of({3}, 3)));
  CHECK(it.stats().paused);
  CHECK(it.database.get(&FakeDatabase::all_claims) == 0);
  it.dispatcher.set_closed(7, InFlight::Closed::paused, false);
  CHECK(it.done(2));
}

}  // namespace inboxd::dispatcher
