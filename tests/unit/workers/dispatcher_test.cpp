#include "workers/dispatcher.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using event::Verdict;
using plugin::Delivered;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using test::DispatcherFixture;
using test::handle_done;
using test::lease_of;
using test::offsets_from;
using test::retry;

TEST_CASE("due deliveries are claimed, handled and settled") {
  DispatcherFixture fixture;
  for (std::int64_t id = 1; id <= 5; ++id) fixture.database.add(lease_of(offsets_from(id * 100, 10), id));
  fixture.run(handle_done);
  REQUIRE(eventually([&] { return fixture.database.done() == 50; }));
  CHECK(eventually([&] { return fixture.dispatcher.idle(); }));
}

TEST_CASE("a born-leased run is handled without a claim") {
  DispatcherFixture fixture;
  fixture.run(handle_done);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of(offsets_from(0, 20))));
  REQUIRE(eventually([&] { return fixture.database.done() == 20; }));
  CHECK(fixture.database.read([](const auto& it) { return it.claims.size(); }) == 0);
}

TEST_CASE("no run is born leased until the database is known to hold no older events") {
  DispatcherFixture fixture;
  CHECK_FALSE(fixture.ingest(lease_of({1})));
  fixture.dispatcher.replace_handlers(DispatcherFixture::setup(handle_done));
  CHECK_FALSE(fixture.ingest(lease_of({1})));
  fixture.dispatcher.start();
  REQUIRE(fixture.caught_up());
  CHECK(fixture.ingest(lease_of({1})));
}

TEST_CASE("events stored as due are claimed at once, without waiting for the poll") {
  config::Dispatch settings;
  settings.poll = seconds{600};
  DispatcherFixture fixture{settings};
  fixture.run(handle_done);
  REQUIRE(fixture.caught_up());
  fixture.database.add(lease_of({1, 2, 3}));
  fixture.dispatcher.notify_due(7);
  CHECK(eventually([&] { return fixture.database.done() == 3; }));
}

TEST_CASE("due events are found by polling without a notice") {
  DispatcherFixture fixture;
  fixture.run(handle_done);
  REQUIRE(fixture.caught_up());
  fixture.database.add(lease_of({1, 2, 3}));
  CHECK(eventually([&] { return fixture.database.done() == 3; }));
}

TEST_CASE("the neighbours of a failed event do not wait for it") {
  DispatcherFixture fixture;
  fixture.run([](const Delivered& each, const auto&) { return each.event->offset % 10 == 3 ? retry() : Verdict{}; });
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of(offsets_from(0, 50))));
  REQUIRE(eventually([&] { return fixture.settler.counters().done == 45; }));
  CHECK(eventually([&] { return fixture.settler.counters().retried == 5; }));
  CHECK(fixture.database.failures().size() == 5);
  for (const auto& failure : fixture.database.failures()) CHECK(failure.attempt == 1);
}

TEST_CASE("a retry keeps the delay that the handler asked for") {
  DispatcherFixture fixture;
  fixture.run([](const Delivered&, const auto&) { return retry("busy", milliseconds{12'345}); });
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1})));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  CHECK(fixture.database.retries().at(0).delay == milliseconds{12'345});
}

TEST_CASE("a handler is away from the first such verdict until a call handles an event") {
  const auto latch = std::make_shared<test::Latch>();
  std::atomic<int> calls{0};
  DispatcherFixture fixture;
  fixture.run([&](const Delivered&, const auto&) {
    if (++calls == 1) return Verdict{Verdict::Kind::away, milliseconds{1}, "gone", "made up"};
    latch->wait();
    return Verdict{};
  });
  REQUIRE(fixture.caught_up());
  CHECK_FALSE(fixture.dispatcher.stats(7).away);
  REQUIRE(fixture.ingest(lease_of({1})));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  CHECK(fixture.dispatcher.stats(7).away);
  CHECK(eventually([&] { return fixture.dispatcher.stats(7).away_for > milliseconds{20}; }));
  latch->open();
  CHECK(eventually([&] { return !fixture.dispatcher.stats(7).away; }));
  CHECK(eventually([&] { return fixture.database.done() == 1; }));
}

TEST_CASE("after the failure that blows a fuse only calls in flight end, before any outcome is recorded") {
  test::SeenEvents seen;
  DispatcherFixture fixture;
  auto settings = DispatcherFixture::handler(4);
  settings.fuse_failures = 20;
  fixture.run(
      [&](const Delivered& event, const auto&) {
        seen.note(event);
        return retry("broken", milliseconds{60'000});
      },
      settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of(offsets_from(0, 40))));
  REQUIRE(eventually([&] { return fixture.dispatcher.stats(7).paused; }));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried >= 20; }));
  CHECK(seen.count() >= 20);
  CHECK(seen.count() <= 23);
}

TEST_CASE("a handler is not away if its call handled another event") {
  const auto latch = std::make_shared<test::Latch>();
  std::atomic<int> calls{0};
  DispatcherFixture fixture;
  fixture.run(
      [&](const Delivered& each, const auto&) {
        if (each.event->offset == 1) return retry();
        if (++calls == 1) return Verdict{Verdict::Kind::away, milliseconds{1}, "gone", "made up"};
        latch->wait();
        return Verdict{};
      },
      DispatcherFixture::handler(1, 2));
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1, 2})));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  CHECK_FALSE(fixture.dispatcher.stats(7).away);
  latch->open();
  CHECK(eventually([&] { return fixture.dispatcher.idle(); }));
}

TEST_CASE("a handler is no longer away once it has no events here") {
  DispatcherFixture fixture;
  fixture.run([](const Delivered&, const auto&) {
    return Verdict{Verdict::Kind::away, milliseconds{1}, "gone", "made up"};
  });
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1})));
  REQUIRE(eventually([&] { return fixture.dispatcher.stats(7).away; }));
  fixture.dispatcher.set_paused(7, true);
  CHECK(eventually([&] { return !fixture.dispatcher.stats(7).away; }));
}

TEST_CASE("a due retry is claimed at once, however long the poll interval") {
  config::Dispatch settings;
  settings.poll = seconds{600};
  DispatcherFixture fixture{settings};
  fixture.run([&](const Delivered& each, const auto&) {
    return each.attempt == 1 ? retry("busy", milliseconds{30}) : Verdict{};
  });
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1})));
  REQUIRE(eventually([&] { return fixture.settler.counters().retried == 1; }));
  fixture.database.add(lease_of({1}, 2, 1));
  CHECK(eventually([&] { return fixture.database.done() == 1; }));
}

TEST_CASE("after a reconnect, claims scan from the start again: the server may have lost commits") {
  config::Dispatch settings;
  settings.poll = milliseconds{1};
  DispatcherFixture fixture{settings};
  fixture.run(handle_done);
  const auto has_mark = [&] { return fixture.database.read([](const auto& it) { return it.not_before.has_value(); }); };
  REQUIRE(eventually(has_mark));
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.oldest_transaction = 0;  // so that the dropped mark is not set again
    fixture.database.generation = 2;
  }
  CHECK(eventually([&] { return !has_mark(); }));
}

TEST_CASE("deliveries with purged events are settled as skipped") {
  DispatcherFixture fixture;
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.empty = {{77, 1}};
  }
  fixture.run(handle_done);
  CHECK(eventually([&] {
    return fixture.database.read([](const auto& it) { return it.skipped; }) == std::vector<std::int64_t>{77};
  }));
}

TEST_CASE("a claim's runs are handled even if releasing its excess fails, and the release is retried") {
  DispatcherFixture fixture;
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.excess = {{78, 1}};
  }
  fixture.database.add(lease_of(offsets_from(0, 10), 1));
  fixture.run(handle_done);
  CHECK(eventually([&] { return fixture.database.done() == 10; }));
  CHECK(eventually([&] { return fixture.database.all_released() == std::vector<std::int64_t>{78}; }));
}

TEST_CASE("a call gets events of several runs if one run has too few") {
  DispatcherFixture fixture;
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
  for (std::int64_t id = 1; id <= 60; ++id) fixture.database.add(lease_of({id}, id));
  std::vector<HandlerSetup> setup;
  setup.push_back({7, DispatcherFixture::handler(1, 16), std::make_unique<Counting>(mutex, most), false});
  fixture.dispatcher.replace_handlers(std::move(setup));
  fixture.dispatcher.start();
  REQUIRE(eventually([&] { return fixture.database.done() == 60; }));
  CHECK(most == 16);
}

}  // namespace inboxd::dispatcher
