// Deliveries that were in flight at several crashes: one of them may be the culprit.
#include <catch2/catch_test_macros.hpp>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using namespace test;

constexpr std::int32_t suspect_claims = inbox::suspected_after + 1;
constexpr std::int32_t few_chances = 8;

inbox::LeasedRun lease_after(std::int32_t claims, std::int64_t id, std::int32_t handler_id = 7) {
  auto lease = lease_of({id}, id, 0, handler_id);
  lease.claims = claims;
  return lease;
}

/// Events below 100 are suspects.
bool is_suspect(std::int64_t offset) { return offset < 100; }

/// The handlers called with suspects, and the most suspects in calls at a time.
struct SuspectCalls {
  std::mutex mutex;
  std::vector<std::int32_t> order;
  int inside = 0;
  int max_inside = 0;

  /// `latch`: suspects wait for it.
  test::Setups setup(std::int32_t handler_id, std::optional<Latch> latch = std::nullopt) {
    const auto call = [this, handler_id, latch](std::int64_t offset) {
      if (!is_suspect(offset)) return;
      {
        const std::lock_guard lock{mutex};
        order.push_back(handler_id);
        max_inside = std::max(max_inside, ++inside);
      }
      if (latch) latch->wait();
      const std::lock_guard lock{mutex};
      --inside;
    };
    return test::setup(call, handler(), handler_id);
  }
};

/// A due suspect with few chances left, beside a running call of another handler.
struct Isolation {
  explicit Isolation(const Dispatcher::Limits& limits) : it{never_polling(), limits} {
    it.database.add(lease_of({2}, 2, 0, 8));
    it.start(both(calls.setup(7, suspect), calls.setup(8, other)));
    REQUIRE(other.blocks());
    REQUIRE(it.caught_up());
    it.database.add(lease_after(few_chances, 1), true);
    it.dispatcher.notify_due(7);
  }

  const Latch suspect, other;
  SuspectCalls calls;
  DispatcherFixture it;
};

}  // namespace

TEST_CASE("while a suspect is in flight, no other suspect of any handler is claimed, and all other events are") {
  const Latch latch;
  SuspectCalls calls;
  DispatcherFixture it{never_polling()};
  it.database.add(lease_after(suspect_claims, 1, 7));
  it.database.add(lease_after(suspect_claims, 2, 8));
  for (std::int64_t id = 101; id <= 120; ++id) it.database.add(lease_after(1, id, id % 2 == 0 ? 7 : 8));
  it.start(both(calls.setup(7, latch), calls.setup(8, latch)));
  REQUIRE(latch.blocks());
  REQUIRE(it.done(20));
  CHECK(it.database.get(&FakeDatabase::due).size() == 1);
  latch.open();
  REQUIRE(it.done(22));
  CHECK(calls.max_inside == 1);
}

TEST_CASE("suspects in front delay no other event, and follow one another without waiting for the poll") {
  const Latch latch;
  SuspectCalls calls;
  DispatcherFixture it{never_polling()};
  for (std::int64_t id = 1; id <= 40; ++id) it.database.add(lease_after(suspect_claims, id));
  for (std::int64_t id = 101; id <= 120; ++id) it.database.add(lease_after(1, id));
  it.start(calls.setup(7, latch));
  REQUIRE(latch.blocks());
  REQUIRE(it.done(20));
  latch.open();
  REQUIRE(it.done(60));
  CHECK(calls.max_inside == 1);
}

TEST_CASE("the suspects of several handlers take turns") {
  SuspectCalls calls;
  DispatcherFixture it{never_polling()};
  for (std::int64_t id = 1; id <= 20; ++id) it.database.add(lease_after(suspect_claims, id, id <= 10 ? 7 : 8));
  it.start(both(calls.setup(7), calls.setup(8)));
  REQUIRE(it.done(20));
  const std::lock_guard lock{calls.mutex};
  for (std::size_t i = 1; i < calls.order.size(); ++i) CHECK(calls.order[i] != calls.order[i - 1]);
}

TEST_CASE("a suspect with few chances left waits for the running calls and then runs alone") {
  Isolation isolation{DispatcherFixture::quick()};
  DispatcherFixture& it = isolation.it;
  REQUIRE(it.released({1}));
  CHECK(isolation.suspect.waiting() == 0);
  isolation.other.open();
  REQUIRE(isolation.suspect.blocks());
  CHECK(it.database.done() == 1);
  // The other handler has no room either.
  it.database.add(lease_of({103}, 103, 0, 8));
  CHECK(it.dispatcher.reserve(8, 1, 100).events == 0);
  it.dispatcher.notify_due(8);
  CHECK(it.database.done() == 1);
  isolation.suspect.open();
  REQUIRE(it.done(3));
  REQUIRE(it.idle());
  CHECK(it.dispatcher.reserve(8, 1, 100).events == 1);
  it.dispatcher.release(8, 1);
}

TEST_CASE("neither slow calls nor a slow suspect hold up all handlers for ever") {
  auto limits = DispatcherFixture::quick();
  limits.claimer.suspects.isolation.emptying = limits.claimer.suspects.isolation.running = 30ms;
  Isolation isolation{limits};
  DispatcherFixture& it = isolation.it;
  REQUIRE(isolation.suspect.blocks());
  CHECK(isolation.other.waiting() == 1);
  it.database.add(lease_of({103}, 103, 0, 8));
  CHECK(it.done(1));
  isolation.suspect.open();
  isolation.other.open();
  CHECK(it.done(3));
}

TEST_CASE("after an isolation, no other suspect is isolated for ten times as long") {
  SuspectIsolation isolation{{}};
  const auto begin = SuspectIsolation::Clock::now();
  CHECK_FALSE(isolation.is_resting(begin));
  isolation.begin(7, {}, begin);
  const auto end = begin + 2s;
  CHECK(isolation.turn({}, end) == nullptr);
  isolation.review({}, false, end);
  CHECK_FALSE(isolation.is_on());
  CHECK(isolation.is_resting(end + 19s));
  CHECK_FALSE(isolation.is_resting(end + 20s));
}

TEST_CASE("a suspect that waits for its isolation stops no handler") {
  auto limits = DispatcherFixture::quick();
  limits.claimer.suspects.isolation.emptying = 1s;
  Isolation isolation{limits};
  DispatcherFixture& it = isolation.it;
  // The other handler's call delayed the first isolation by a second, so the rest takes ten.
  REQUIRE(isolation.suspect.blocks());
  it.database.add(lease_after(few_chances, 4), true);
  isolation.suspect.open();
  REQUIRE(it.done(1));
  it.dispatcher.notify_due(7);
  it.database.add(lease_of({103}, 103, 0, 8));
  it.dispatcher.notify_due(8);
  isolation.other.open();
  CHECK(it.done(3));
  CHECK(it.database.all_released() == Ids{1});  // only the first: no handler was stopped for the next
}

}  // namespace inboxd::dispatcher
