// Exceptions, deadlines and slow calls.
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
using test::Latch;
using test::lease_of;
using test::offsets_from;
using test::retry;
using test::SeenEvents;

namespace {

config::Handler with_deadline(milliseconds deadline, int concurrency = 1, int events_per_call = 1) {
  auto settings = DispatcherFixture::handler(concurrency, events_per_call);
  settings.deadline = deadline;
  return settings;
}

/// Calls past their deadline are cancelled but never given up.
Dispatcher::Limits patient_limits() {
  auto limits = DispatcherFixture::quick();
  limits.watch.grace = seconds{600};
  return limits;
}

/// A handler that waits for the latch at that event.
test::HandlerFunction block_with(std::int64_t offset, const std::shared_ptr<Latch>& latch) {
  return [offset, latch](const Delivered& each, const plugin::Cancellation&) {
    if (each.event->offset == offset) latch->wait();
    return Verdict{};
  };
}

}  // namespace

TEST_CASE("an exception of a handler is a failed attempt") {
  DispatcherFixture fixture;
  fixture.run([](const Delivered&, const auto&) -> Verdict { throw std::runtime_error{"boom"}; });
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1})));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  CHECK(fixture.database.failures().at(0).error_class == "exception");
  CHECK(fixture.database.failures().at(0).message == "boom");
}

TEST_CASE("a call past its deadline is charged, and its slot becomes free") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.run(block_with(2, latch), with_deadline(milliseconds{20}));
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return fixture.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  CHECK(fixture.database.failures().at(0).error_class == "deadline");
  CHECK(fixture.dispatcher.stats(7).abandoned == 1);
  CHECK(fixture.dispatcher.stats(7).deadlines == 1);
  latch->open();
  CHECK(eventually([&] { return fixture.dispatcher.stats(7).abandoned == 0; }));
  CHECK(fixture.settler.counters().done == 3);
}

TEST_CASE("of a call that does not return, only the slow event is charged") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.run(block_with(3, latch), with_deadline(milliseconds{300}, 2, 4));
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return fixture.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  REQUIRE(fixture.database.failures().size() == 1);
  CHECK(fixture.database.failures().at(0).error_class == "deadline");
  CHECK(fixture.dispatcher.stats(7).deadlines == 2);
  latch->open();
  CHECK(eventually([&] { return fixture.dispatcher.stats(7).abandoned == 0; }));
  CHECK(fixture.settler.counters().done == 3);
}

TEST_CASE("of a call that stops in time without any result, only the slow event is charged") {
  const auto settings = with_deadline(milliseconds{300}, 1, 4);
  DispatcherFixture fixture{{}, patient_limits()};
  std::atomic<bool> is_one_slow{false};
  fixture.run(
      [&](const Delivered& each, const plugin::Cancellation& cancellation) {
        // A call with the slow event, the last one, returns no result at all.
        if (each.event->offset == 1 && !is_one_slow.exchange(true)) {
          while (!cancellation.requested) std::this_thread::yield();
        }
        while (each.event->offset == 4 && !cancellation.requested) std::this_thread::yield();
        return cancellation.requested ? retry("cancelled") : Verdict{};
      },
      settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return fixture.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  REQUIRE(fixture.database.failures().size() == 1);
  CHECK(fixture.database.failures().at(0).error_class == "deadline");
}

TEST_CASE("of a call that took too long, the slow event is charged, and the events behind it are not") {
  const auto settings = with_deadline(milliseconds{300}, 1, 4);
  DispatcherFixture fixture{{}, patient_limits()};
  fixture.run(
      [](const Delivered& each, const plugin::Cancellation& cancellation) {
        if (cancellation.requested) return retry("cancelled");
        if (each.event->offset != 2) return Verdict{};
        while (!cancellation.requested) std::this_thread::yield();
        return retry("timeout");
      },
      settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2, 3, 4})));
  REQUIRE(eventually([&] { return fixture.settler.counters().done == 3; }));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  REQUIRE(fixture.database.failures().size() == 1);
  CHECK(fixture.database.failures().at(0).error_class == "timeout");
}

TEST_CASE("calls of several events that never return are charged one event each before the handler is stopped") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  const auto settings = with_deadline(milliseconds{100}, 1, 2);
  fixture.run(block_on(latch), settings);
  REQUIRE(fixture.caught_up());
  for (std::int64_t id = 1; id <= 4; ++id) REQUIRE(fixture.ingest(lease_of({2 * id, 2 * id + 1}, id)));
  REQUIRE(eventually([&] { return fixture.dispatcher.stats(7).stopped; }));
  CHECK(fixture.dispatcher.stats(7).abandoned == 3);  // one of two events, then each alone
  CHECK(eventually([&] { return fixture.database.failures().size() == 2; }));
  latch->open();
  CHECK(eventually([&] { return !fixture.dispatcher.stats(7).stopped; }));
}

TEST_CASE("a reload keeps the counts of given-up calls and of threads still in one") {
  const auto first = std::make_shared<Latch>(), second = std::make_shared<Latch>();
  DispatcherFixture fixture;
  const auto settings = with_deadline(milliseconds{200});
  const auto behind_latches = [first, second](const Delivered& each, const auto&) {
    (each.event->offset == 1 ? first : second)->wait();
    return Verdict{};
  };
  fixture.run(behind_latches, settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1}, 1)));
  REQUIRE(eventually([&] { return fixture.dispatcher.stats(7).abandoned == 1; }));
  REQUIRE(fixture.ingest(lease_of({2}, 2)));
  REQUIRE(eventually([&] { return second->waiting == 1; }));

  fixture.dispatcher.replace_handlers(DispatcherFixture::setup(behind_latches, settings));
  CHECK(fixture.dispatcher.stats(7).abandoned >= 1);
  CHECK(fixture.dispatcher.stats(7).deadlines >= 1);
  // The old pool's later calls count too.
  CHECK(eventually([&] { return fixture.dispatcher.stats(7).abandoned == 2; }));
  CHECK(fixture.dispatcher.stats(7).deadlines == 2);
  CHECK_FALSE(fixture.dispatcher.stats(7).stopped);  // the new pool has lost no thread
  first->open();
  second->open();
  CHECK(eventually([&] { return fixture.dispatcher.stats(7).abandoned == 0; }));
  CHECK(fixture.dispatcher.stats(7).deadlines == 2);
}

TEST_CASE("a call past its deadline is cancelled and may still return a verdict") {
  const auto settings = with_deadline(milliseconds{5});
  DispatcherFixture fixture{{}, patient_limits()};
  fixture.run(
      [](const Delivered&, const plugin::Cancellation& cancellation) {
        while (!cancellation.requested) std::this_thread::yield();
        return retry("gave-up");
      },
      settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1})));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  CHECK(fixture.database.failures().at(0).error_class == "gave-up");
  CHECK(fixture.dispatcher.stats(7).deadlines == 0);
}

TEST_CASE("a cancelled call does not cancel the next one") {
  std::atomic<int> cancelled{0};
  const auto settings = with_deadline(milliseconds{5});
  DispatcherFixture fixture{{}, patient_limits()};
  fixture.run(
      [&](const Delivered& each, const plugin::Cancellation& cancellation) {
        if (each.event->offset == 2 && cancellation.requested) ++cancelled;
        while (each.event->offset == 1 && !cancellation.requested) std::this_thread::yield();
        return Verdict{};
      },
      settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2})));
  REQUIRE(eventually([&] { return fixture.settler.counters().done == 2; }));
  CHECK(cancelled == 0);
}

TEST_CASE("a handler whose calls never return is stopped and releases its events until they return") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  const auto settings = with_deadline(milliseconds{5});
  fixture.run(block_on(latch), settings);
  REQUIRE(fixture.caught_up());
  for (std::int64_t id = 1; id <= 5; ++id) REQUIRE(fixture.ingest(lease_of({id}, id)));
  REQUIRE(eventually([&] { return fixture.dispatcher.stats(7).stopped; }));
  CHECK(fixture.dispatcher.stats(7).abandoned == 2);
  CHECK(eventually([&] { return fixture.database.all_released() == std::vector<std::int64_t>{3, 4, 5}; }));
  CHECK_FALSE(fixture.ingest(lease_of({9}, 9)));
  latch->open();
  REQUIRE(eventually([&] { return !fixture.dispatcher.stats(7).stopped; }));
  fixture.database.add(lease_of({10, 11}, 10));
  CHECK(eventually([&] { return fixture.database.done() == 2; }));
}

TEST_CASE("events behind a slow call are taken by another worker") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  SeenEvents seen;
  fixture.run([&, latch](const Delivered& each, const auto&) {
    if (each.event->offset == 500) latch->wait();
    seen.note(each);
    return Verdict{};
  });
  REQUIRE(fixture.caught_up());
  for (std::int64_t id = 0; id < 30; ++id) {  // workers learn to take many at once
    REQUIRE(eventually([&] { return fixture.ingest(lease_of(offsets_from(1'000, 40), 100 + id)); }));
  }
  REQUIRE(eventually([&] { return fixture.database.done() == 30 * 40; }));
  REQUIRE(eventually([&] { return fixture.ingest(lease_of(offsets_from(500, 40), 1)); }));
  CHECK(eventually([&] { return seen.count() == 30 * 40 + 39; }));
  latch->open();
  CHECK(eventually([&] { return fixture.database.done() == 31 * 40; }));
}

TEST_CASE("a slow handler releases the events beyond a second of its work") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  fixture.run([latch](const Delivered&, const auto&) {
    latch->wait();
    return Verdict{};
  });
  REQUIRE(fixture.caught_up());
  for (std::int64_t id = 1; id <= 6; ++id) REQUIRE(fixture.ingest(lease_of(offsets_from(id * 100, 10), id)));
  // Both workers are stuck in run 1. The events far beyond a second of their work are released, youngest first.
  CHECK(eventually([&] { return fixture.database.all_released() == std::vector<std::int64_t>{2, 3, 4, 5, 6}; }));
  CHECK(fixture.dispatcher.stats(7).backlog);
  CHECK_FALSE(fixture.ingest(lease_of({9'999}, 99)));
  latch->open();
}

}  // namespace inboxd::dispatcher
