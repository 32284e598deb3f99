#include "workers/dispatcher.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using namespace test;
using event::Verdict;
using plugin::Delivered;

Verdict away() { return {Verdict::Kind::away, 1ms, "gone", "made up"}; }

}  // namespace

TEST_CASE("a run is born leased and handled without a claim once the database is known to hold no older events") {
  DispatcherFixture it;
  CHECK_FALSE(it.may_ingest(lease_of({1})));
  it.reload(handle_done);
  CHECK_FALSE(it.may_ingest(lease_of({1})));
  it.dispatcher.start();
  REQUIRE(it.caught_up());
  it.ingest(offsets_from(0, 20));
  REQUIRE(it.done(20));
  CHECK(it.database.get(&FakeDatabase::claims).size() == 0);
}

TEST_CASE("events stored as due are claimed at once after a notice, and found by polling without one") {
  const bool is_noticed = GENERATE(false, true);
  DispatcherFixture it{is_noticed ? never_polling() : config::Dispatch{}};
  it.run(handle_done);
  it.database.add(lease_of({1, 2, 3}));
  if (is_noticed) it.dispatcher.notify_due(7);
  CHECK(it.done(3));
}

TEST_CASE("the neighbours of a failed event do not wait for it, and its retry keeps the delay that was asked for") {
  DispatcherFixture it;
  it.run([](std::int64_t offset) { return offset % 10 == 3 ? retry("busy", 12'345ms) : Verdict{}; });
  it.ingest(offsets_from(0, 50));
  REQUIRE(it.done(45));
  REQUIRE(it.retried(5));
  CHECK(it.failures().size() == 5);
  for (const auto& failure : it.failures()) CHECK(failure.attempt == 1);
  for (const auto& group : it.database.all(&inbox::Settlement::retries)) CHECK(group.delay == 12'345ms);
}

TEST_CASE("a due retry is claimed at once, however long the poll interval") {
  DispatcherFixture it{never_polling()};
  it.run([](const Delivered& each, const auto&) { return each.attempt == 1 ? retry("busy", 30ms) : Verdict{}; });
  it.ingest({1});
  REQUIRE(it.retried(1));
  it.database.add(lease_of({1}, 2, 1));
  CHECK(it.done(1));
}

TEST_CASE("a handler is away from the first such verdict until a call handles an event") {
  const test::Latch latch;
  std::atomic<int> calls{0};
  DispatcherFixture it;
  it.run([&](std::int64_t) {
    if (++calls == 1) return away();
    latch.wait();
    return Verdict{};
  });
  CHECK_FALSE(it.stats().away);
  it.ingest({1});
  REQUIRE(latch.blocks());
  CHECK(it.stats().away);
  CHECK(eventually([&] { return it.stats().away_for > 20ms; }));
  latch.open();
  CHECK(it.becomes(&Stats::away, false));
  CHECK(it.done(1));
}

TEST_CASE("a handler is not away if its call handled another event") {
  const test::Latch latch;
  std::atomic<int> calls{0};
  DispatcherFixture it;
  it.run(
      [&](std::int64_t offset) {
        if (offset == 1) return retry();
        if (++calls == 1) return away();
        latch.wait();
        return Verdict{};
      },
      handler({.concurrency = 1, .events_per_call = 2}));
  it.ingest({1, 2});
  REQUIRE(latch.blocks());
  CHECK_FALSE(it.stats().away);
  latch.open();
  CHECK(it.idle());
}

TEST_CASE("a handler is no longer away once it has no events here") {
  DispatcherFixture it;
  it.run([](std::int64_t) { return away(); });
  it.ingest({1});
  REQUIRE(it.becomes(&Stats::away, true));
  it.dispatcher.set_closed(7, InFlight::Closed::paused, true);
  CHECK(it.becomes(&Stats::away, false));
}

TEST_CASE("after the failure that blows a fuse only calls in flight end, before any outcome is recorded") {
  test::SeenEvents seen;
  DispatcherFixture it;
  it.run(
      [&](std::int64_t offset) {
        seen.note(offset);
        return retry("broken", 60'000ms);
      },
      handler({.concurrency = 4, .fuse = 20}));
  it.ingest(offsets_from(0, 40));
  REQUIRE(it.becomes(&Stats::paused, true));
  REQUIRE(eventually([&] { return it.settler.counters().retried >= 20; }));
  CHECK(seen.count() >= 20);
  CHECK(seen.count() <= 23);
}

TEST_CASE("after a reconnect, claims scan from the start again: the server may have lost commits") {
  DispatcherFixture it{test::polling(1ms)};
  it.run(handle_done);
  const auto has_mark = [&] { return it.database.get(&FakeDatabase::not_before).has_value(); };
  REQUIRE(eventually(has_mark));
  {
    const std::lock_guard lock{it.database.mutex};
    it.database.oldest_transaction = 0;  // so that the dropped mark is not set again
    it.database.generation = 2;
  }
  CHECK(eventually([&] { return !has_mark(); }));
}

TEST_CASE("deliveries with purged events are settled as skipped") {
  DispatcherFixture it;
  it.database.empty = {{77, 1}};
  it.run(handle_done);
  CHECK(eventually([&] { return it.database.get(&FakeDatabase::skipped) == Ids{77}; }));
}

TEST_CASE("a claim's runs are handled even if releasing its excess fails, and the release is retried") {
  DispatcherFixture it;
  it.database.excess = {{78, 1}};
  it.database.add(lease_of(offsets_from(0, 10)));
  it.run(handle_done);
  CHECK(it.done(10));
  CHECK(it.released({78}));
}

}  // namespace inboxd::dispatcher
