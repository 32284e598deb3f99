// Leases that expire, and a database that is away.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

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
using test::offsets_from;
using test::SeenEvents;

TEST_CASE("leases are renewed by name while a call runs") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  auto settings = DispatcherFixture::handler(1);
  settings.lease = milliseconds{60};
  fixture.run(block_on(latch), settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1}, 41)));
  CHECK(eventually([&] {
    return fixture.database.read([](const auto& it) { return std::count(it.renewed.begin(), it.renewed.end(), 41); }) >=
           3;
  }));
  latch->open();
  CHECK(eventually([&] { return fixture.database.done() == 1; }));
}

TEST_CASE("leases shortened by a reload are renewed in time") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  auto settings = DispatcherFixture::handler(1);
  settings.lease = std::chrono::hours{1};
  fixture.run(block_on(latch), settings);
  REQUIRE(fixture.caught_up());
  settings.lease = milliseconds{60};
  fixture.dispatcher.replace_handlers(DispatcherFixture::setup(block_on(latch), settings));
  // After a reload the handler may look for a backlog first, and nothing can be handed over until then.
  REQUIRE(eventually([&] { return fixture.ingest(lease_of({1}, 41)); }));
  CHECK(eventually([&] {
    return fixture.database.read([](const auto& it) { return std::count(it.renewed.begin(), it.renewed.end(), 41); }) >=
           3;
  }));
  latch->open();
  CHECK(eventually([&] { return fixture.database.done() == 1; }));
}

TEST_CASE("a run with an expired lease is not called but released, uncharged") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  auto settings = DispatcherFixture::handler(1);
  settings.lease = milliseconds{40};
  SeenEvents seen;
  fixture.run(
      [&, latch](const Delivered& each, const auto&) {
        latch->wait();
        seen.note(each);
        return Verdict{};
      },
      settings);
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1}, 1)));
  REQUIRE(eventually([&] { return latch->waiting == 1; }));
  REQUIRE(fixture.ingest(lease_of({2}, 2)));
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.away = true;
  }
  std::this_thread::sleep_for(3 * settings.lease);  // only the clock shows that a lease has expired
  latch->open();
  CHECK(eventually([&] { return fixture.dispatcher.stats(7).expired == 1; }));
  CHECK(seen.count() == 1);
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.away = false;
  }
  CHECK(eventually([&] { return fixture.database.all_released() == std::vector<std::int64_t>{2}; }));
}

TEST_CASE("work continues when the database is back") {
  DispatcherFixture fixture;
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.away = true;
  }
  fixture.run(handle_done);
  fixture.database.add(lease_of({1, 2}));
  REQUIRE(eventually([&] { return fixture.database.read([](const auto& it) { return it.failed_calls; }) > 3; }));
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.away = false;
  }
  CHECK(eventually([&] { return fixture.database.done() == 2; }));
}

TEST_CASE("the leases of a claim whose answer was lost are released once the database answers again") {
  DispatcherFixture fixture;
  fixture.run(handle_done);
  REQUIRE(fixture.caught_up());
  const auto set_away = [&](bool away) {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.away = away;
  };
  const auto lost = [&] { return fixture.database.read([](const auto& it) { return it.lost_fences; }); };
  set_away(true);
  fixture.dispatcher.notify_due(7);
  REQUIRE(eventually([&] { return !lost().empty(); }));
  set_away(false);
  CHECK(eventually(
      [&] { return fixture.database.read([](const auto& it) { return it.released_fences == it.lost_fences; }); }));
  CHECK(lost().front() != 0);
}

TEST_CASE("a handler whose claims are refused does not starve the others, and its leases are still renewed") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  auto refused = DispatcherFixture::handler(4);
  refused.lease = milliseconds{60};
  auto setups = DispatcherFixture::setup(block_on(latch), refused);
  setups.push_back({8, DispatcherFixture::handler(), std::make_unique<test::FunctionInstance>(handle_done), false});
  fixture.dispatcher.replace_handlers(std::move(setups));
  fixture.dispatcher.start();
  REQUIRE(fixture.caught_up());
  REQUIRE(fixture.ingest(lease_of({1}, 41)));
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.refused = {7};
  }
  REQUIRE(eventually([&] { return fixture.database.read([](const auto& it) { return it.refusals; }) >= 3; }));
  for (std::int64_t id = 1; id <= 5; ++id) {
    auto lease = lease_of(offsets_from(id * 100, 10), id);
    lease.handler_id = 8;
    fixture.database.add(std::move(lease));
  }
  CHECK(eventually([&] { return fixture.database.done() == 50; }));
  const auto renewals = [&] { return fixture.database.read([](const auto& it) { return it.renewed.size(); }); };
  const auto before = renewals();
  CHECK(eventually([&] { return renewals() >= before + 3; }));
  latch->open();
}

TEST_CASE("a statement may take half of the shortest lease at stake, or the configured deadline if none is") {
  const auto latch = std::make_shared<Latch>();
  DispatcherFixture fixture;
  auto settings = DispatcherFixture::handler(1);
  settings.lease = seconds{30};
  fixture.run(block_on(latch), settings);
  REQUIRE(fixture.caught_up());
  const auto longest = [&] { return fixture.database.read([](const auto& it) { return it.longest_statement; }); };
  CHECK(longest() == std::nullopt);
  REQUIRE(fixture.ingest(lease_of({1}, 41)));
  CHECK(eventually([&] { return longest() == seconds{15}; }));
  latch->open();
  CHECK(eventually([&] { return longest() == std::nullopt; }));
}

TEST_CASE("an event that was in flight at too many crashes, and alone at the last, is dead without another call") {
  DispatcherFixture fixture;
  SeenEvents seen;
  auto settings = DispatcherFixture::handler();
  settings.max_crashes = GENERATE(10, 4, 50);
  auto killer = lease_of({1}, 1);
  killer.claims = settings.max_crashes + 1;
  killer.was_alone = true;
  auto neighbour = lease_of({3}, 3);
  neighbour.claims = settings.max_crashes + 1;
  auto victim = lease_of({2}, 2);
  victim.claims = settings.max_crashes;
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.due_again.emplace(2, victim);
    fixture.database.due_again.emplace(3, neighbour);
  }
  fixture.database.add(std::move(killer));
  fixture.database.add(std::move(victim));
  fixture.database.add(std::move(neighbour));
  fixture.run(
      [&](const Delivered& each, const auto&) {
        seen.note(each);
        return Verdict{};
      },
      settings);
  REQUIRE(eventually([&] { return fixture.settler.counters().dead == 1 && fixture.settler.counters().done == 2; }));
  CHECK(seen.offsets == std::multiset<std::int64_t>{2, 3});
  CHECK(fixture.database.failures().at(0).error_class == "crashed");
}

}  // namespace inboxd::dispatcher
