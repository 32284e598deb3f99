// Leases that expire, and a database that is away.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using namespace test;

bool is_renewed(const DispatcherFixture& it, std::int64_t delivery_id, std::ptrdiff_t times) {
  return eventually([&] {
    const auto all = it.database.get(&FakeDatabase::renewed);
    return std::count(all.begin(), all.end(), delivery_id) >= times;
  });
}

}  // namespace

TEST_CASE("leases are renewed by name while a call runs, also those shortened by a reload") {
  const bool reloads = GENERATE(false, true);
  const Latch latch;
  DispatcherFixture it;
  it.run(block_on(latch), handler({.concurrency = 1, .lease = reloads ? 3'600'000ms : 60ms}));
  if (reloads) it.reload(block_on(latch), handler({.concurrency = 1, .lease = 60ms}));
  // After a reload the handler may look for a backlog first, and nothing can be handed over until then.
  REQUIRE(eventually([&] { return it.may_ingest(lease_of({1}, 41)); }));
  CHECK(is_renewed(it, 41, 3));
  latch.open();
  CHECK(it.done(1));
}

TEST_CASE("a run with an expired lease is not called but released, uncharged") {
  const Latch latch;
  test::SeenEvents seen;
  DispatcherFixture it;
  it.run(
      [&, latch](std::int64_t offset) {
        latch.wait();
        seen.note(offset);
      },
      handler({.concurrency = 1, .lease = 40ms}));
  it.ingest({1}, 1);
  REQUIRE(latch.blocks());
  it.ingest({2}, 2);
  it.database.set(&FakeDatabase::away, true);
  std::this_thread::sleep_for(120ms);  // only the clock shows that a lease has expired
  latch.open();
  CHECK(it.becomes(&Stats::expired, std::int64_t{1}));
  CHECK(seen.count() == 1);
  it.database.set(&FakeDatabase::away, false);
  CHECK(it.released({2}));
}

TEST_CASE("once the database answers again work continues, and the leases of a claim without an answer are released") {
  DispatcherFixture it;
  it.run(handle_done);
  const auto lost = [&] { return it.database.get(&FakeDatabase::lost_fences); };
  it.database.set(&FakeDatabase::away, true);
  it.dispatcher.notify_due(7);
  REQUIRE(eventually([&] { return !lost().empty(); }));
  it.database.add(lease_of({1, 2}));
  it.database.set(&FakeDatabase::away, false);
  CHECK(eventually([&] { return it.database.get(&FakeDatabase::released_fences) == lost(); }));
  CHECK(lost().front() != 0);
  CHECK(it.done(2));
}

TEST_CASE("a handler whose claims are refused does not starve the others, and its leases are still renewed") {
  const Latch latch;
  DispatcherFixture it;
  it.run(both(test::setup(block_on(latch), handler({.concurrency = 4, .lease = 60ms})),
              test::setup(handle_done, handler(), 8)));
  it.ingest({1}, 41);
  it.database.set(&FakeDatabase::refused, {7});
  REQUIRE(eventually([&] { return it.database.get(&FakeDatabase::refusals) >= 3; }));
  for (std::int64_t id = 1; id <= 5; ++id) it.database.add(lease_of(offsets_from(id * 100, 10), id, 0, 8));
  CHECK(it.done(50));
  const auto before = it.database.get(&FakeDatabase::renewed);
  CHECK(is_renewed(it, 41, static_cast<std::ptrdiff_t>(before.size()) + 3));
  latch.open();
}

TEST_CASE("a statement may take half of the shortest lease at stake, or the configured deadline if none is") {
  const Latch latch;
  DispatcherFixture it;
  it.run(block_on(latch), handler({.concurrency = 1, .lease = 30s}));
  const auto longest = [&] { return it.database.get(&FakeDatabase::max_statement); };
  CHECK(longest() == std::nullopt);
  it.ingest({1}, 41);
  CHECK(eventually([&] { return longest() == 15s; }));
  latch.open();
  CHECK(eventually([&] { return longest() == std::nullopt; }));
}

TEST_CASE("an event that was in flight at too many crashes, and alone at the last, is dead without another call") {
  test::SeenEvents seen;
  DispatcherFixture it;
  auto settings = handler();
  settings.max_crashes = GENERATE(10, 4, 50);
  auto killer = lease_of({1}, 1), victim = lease_of({2}, 2), neighbour = lease_of({3}, 3);
  killer.claims = neighbour.claims = settings.max_crashes + 1;
  killer.was_alone = true;
  victim.claims = settings.max_crashes;
  it.database.add(killer);
  it.database.add(victim, true);
  it.database.add(neighbour, true);
  it.start(test::setup([&](std::int64_t offset) { seen.note(offset); }, settings));
  REQUIRE(eventually([&] { return it.settler.counters().dead == 1 && it.settler.counters().done == 2; }));
  auto called = seen.read();
  std::sort(called.begin(), called.end());
  CHECK(called == Ids{2, 3});
  CHECK(it.classes().at(0) == "crashed");
}

}  // namespace inboxd::dispatcher
