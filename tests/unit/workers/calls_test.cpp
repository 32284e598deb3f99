// Exceptions, deadlines and slow calls.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using namespace std::chrono_literals;
using namespace test;
using event::Verdict;
using plugin::Cancellation;
using plugin::Delivered;

TEST_CASE("an exception of a handler is a failed attempt") {
  DispatcherFixture it;
  it.run([](std::int64_t) { throw std::runtime_error{"boom"}; });
  it.ingest({1});
  REQUIRE(it.retried(1));
  CHECK(it.failures().at(0).error_class == "exception");
  CHECK(it.failures().at(0).message == "boom");
}

TEST_CASE("of calls past their deadline only the slow event is charged, and their slots become free") {
  const Latch latch;
  DispatcherFixture it;
  std::uint64_t deadlines = 1;
  SECTION("one event a call") { it.run(block_on(latch, 3), handler({.concurrency = 1, .deadline = 20ms})); }
  SECTION("several events a call") {
    it.run(block_on(latch, 3), handler({.events_per_call = 4, .deadline = 300ms}));
    deadlines = 2;
  }
  it.ingest({1, 2, 3, 4});
  REQUIRE(it.retried(1));
  REQUIRE(eventually([&] { return it.settler.counters().done == 3; }));
  CHECK(it.classes() == Classes{"deadline"});
  CHECK(it.stats().abandoned >= 1);
  CHECK(it.stats().deadlines == deadlines);
  latch.open();
  CHECK(it.abandoned(0));
  CHECK(it.settler.counters().done == 3);
}

TEST_CASE("of a call that is cancelled, only the slow event is charged, and the events behind it are not") {
  DispatcherFixture it{{}, DispatcherFixture::patient()};
  std::string charged;
  std::atomic<bool> is_one_slow{false};
  const auto settings = handler({.concurrency = 1, .events_per_call = 4, .deadline = 300ms});
  SECTION("it returns no result at all") {
    charged = "deadline";
    it.run(
        [&](const Delivered& each, const Cancellation& cancellation) {
          // The slow event is the last one.
          if (each.event->offset == 1 && !is_one_slow.exchange(true)) wait_for(cancellation);
          if (each.event->offset == 4) wait_for(cancellation);
          return cancellation.requested ? retry("cancelled") : Verdict{};
        },
        settings);
  }
  SECTION("it returns the verdict of the slow event") {
    charged = "timeout";
    it.run(
        [](const Delivered& each, const Cancellation& cancellation) {
          if (cancellation.requested) return retry("cancelled");
          if (each.event->offset != 2) return Verdict{};
          wait_for(cancellation);
          return retry("timeout");
        },
        settings);
  }
  it.ingest({1, 2, 3, 4});
  REQUIRE(it.retried(1));
  REQUIRE(eventually([&] { return it.settler.counters().done == 3; }));
  CHECK(it.classes() == Classes{charged});
}

TEST_CASE("a handler whose calls never return is stopped after two charged events, until they return") {
  const int events_per_call = GENERATE(1, 2);
  const Latch latch;
  DispatcherFixture it;
  it.run(block_on(latch), handler({.concurrency = 1, .events_per_call = events_per_call, .deadline = 100ms}));
  for (std::int64_t id = 1; id <= 5; ++id) it.ingest({2 * id, 2 * id + 1}, id);
  REQUIRE(it.becomes(&Stats::stopped, true));
  CHECK(it.stats().abandoned == events_per_call + 1);  // a call of two events, then each alone
  CHECK(eventually([&] { return it.failures().size() == 2; }));
  CHECK(it.released({2, 3, 4, 5}));
  CHECK_FALSE(it.may_ingest(lease_of({99}, 9)));
  latch.open();
  REQUIRE(it.becomes(&Stats::stopped, false));
  it.database.add(lease_of({100, 101}, 10));
  CHECK(it.done(2));
}

TEST_CASE("a reload keeps the counts of given-up calls and of threads still in one") {
  const Latch first, second;
  DispatcherFixture it;
  const auto settings = handler({.concurrency = 1, .deadline = 200ms});
  const auto behind_latches = [=](std::int64_t offset) { (offset == 1 ? first : second).wait(); };
  it.run(behind_latches, settings);
  it.ingest({1}, 1);
  REQUIRE(it.abandoned(1));
  it.ingest({2}, 2);
  REQUIRE(second.blocks());

  it.reload(behind_latches, settings);
  CHECK(it.stats().abandoned >= 1);
  CHECK(it.stats().deadlines >= 1);
  CHECK(it.abandoned(2));  // the old pool's later calls count too
  CHECK(it.stats().deadlines == 2);
  CHECK_FALSE(it.stats().stopped);  // the new pool has lost no thread
  first.open();
  second.open();
  CHECK(it.abandoned(0));
  CHECK(it.stats().deadlines == 2);
}

TEST_CASE("a call past its deadline is cancelled and may still return a verdict, and the next one is not cancelled") {
  std::atomic<int> cancelled{0};
  DispatcherFixture it{{}, DispatcherFixture::patient()};
  it.run(
      [&](const Delivered& each, const Cancellation& cancellation) {
        if (each.event->offset == 1) {
          wait_for(cancellation);
          return retry("gave-up");
        }
        if (cancellation.requested) ++cancelled;
        return Verdict{};
      },
      handler({.concurrency = 1, .deadline = 5ms}));
  it.ingest({1, 2});
  REQUIRE(it.retried(1));
  REQUIRE(it.done(1));
  CHECK(it.classes() == Classes{"gave-up"});
  CHECK(it.stats().deadlines == 0);
  CHECK(cancelled == 0);
}

TEST_CASE("events behind a slow call are taken by another worker") {
  const Latch latch;
  test::SeenEvents seen;
  DispatcherFixture it;
  it.run([&, latch](std::int64_t offset) {
    if (offset == 500) latch.wait();
    seen.note(offset);
  });
  for (std::int64_t id = 0; id < 30; ++id) {  // workers learn to take many at once
    REQUIRE(eventually([&] { return it.may_ingest(lease_of(offsets_from(1'000, 40), 100 + id)); }));
  }
  REQUIRE(it.done(30 * 40));
  REQUIRE(eventually([&] { return it.may_ingest(lease_of(offsets_from(500, 40), 1)); }));
  CHECK(eventually([&] { return seen.count() == 30 * 40 + 39; }));
  latch.open();
  CHECK(it.done(31 * 40));
}

TEST_CASE("a slow handler releases the events beyond a second of its work") {
  const Latch latch;
  DispatcherFixture it;
  it.run(block_on(latch));
  for (std::int64_t id = 1; id <= 6; ++id) it.ingest(offsets_from(id * 100, 10), id);
  // Both workers are stuck in run 1. The events far beyond a second of their work are released, youngest first.
  CHECK(it.released({2, 3, 4, 5, 6}));
  CHECK(it.stats().backlog);
  CHECK_FALSE(it.may_ingest(lease_of({9'999}, 99)));
  latch.open();
}

}  // namespace inboxd::dispatcher
