// Deliveries that were in flight at several crashes: one of them may be the culprit.
#include <catch2/catch_test_macros.hpp>

#include "unit/workers/dispatcher_fixture.hpp"

namespace inboxd::dispatcher {

using event::Verdict;
using plugin::Delivered;
using std::chrono::milliseconds;
using std::chrono::seconds;
using support::eventually;
using test::DispatcherFixture;
using test::Latch;
using test::lease_of;

namespace {

constexpr std::int32_t suspect_claims = inbox::suspected_after + 1;

inbox::LeasedRun lease_after(std::int32_t claims, std::int64_t id, std::int32_t handler_id = 7) {
  auto lease = lease_of({id}, id, 0, handler_id);
  lease.claims = claims;
  return lease;
}

config::Dispatch never_polling() {
  config::Dispatch settings;
  settings.poll = seconds{600};
  return settings;
}

/// The handlers called with suspects, and the most suspects in calls at a time.
struct SuspectCalls {
  std::mutex mutex;
  std::vector<std::int32_t> order;
  std::set<std::int64_t> suspects;
  int inside = 0;
  int most_inside = 0;

  test::HandlerFunction function(std::int32_t handler_id, std::shared_ptr<Latch> latch = nullptr) {
    return [this, handler_id, latch](const Delivered& each, const auto&) {
      const std::int64_t offset = each.event->offset;
      if (!suspects.contains(offset)) return Verdict{};
      {
        const std::lock_guard lock{mutex};
        order.push_back(handler_id);
        most_inside = std::max(most_inside, ++inside);
      }
      if (latch) latch->wait();
      const std::lock_guard lock{mutex};
      --inside;
      return Verdict{};
    };
  }
};

/// Handlers 7 and 8.
std::vector<HandlerSetup> two_handlers(test::HandlerFunction one, test::HandlerFunction other) {
  auto out = DispatcherFixture::setup(std::move(one));
  out.push_back({8, DispatcherFixture::handler(), std::make_unique<test::FunctionInstance>(std::move(other)), false});
  return out;
}

}  // namespace

TEST_CASE("while a suspect is in flight, no other suspect of any handler is claimed, and all other events are") {
  const auto latch = std::make_shared<Latch>();
  SuspectCalls calls;
  calls.suspects = {1, 2};
  DispatcherFixture fixture{never_polling()};
  fixture.database.add(lease_after(suspect_claims, 1, 7));
  fixture.database.add(lease_after(suspect_claims, 2, 8));
  for (std::int64_t id = 101; id <= 120; ++id) fixture.database.add(lease_after(1, id, id % 2 == 0 ? 7 : 8));
  fixture.dispatcher.replace_handlers(two_handlers(calls.function(7, latch), calls.function(8, latch)));
  fixture.dispatcher.start();
  REQUIRE(eventually([&] { return latch->waiting == 1 && fixture.database.done() == 20; }));
  CHECK(fixture.database.read([](const auto& it) { return it.due.size(); }) == 1);
  latch->open();
  REQUIRE(eventually([&] { return fixture.database.done() == 22; }));
  CHECK(calls.most_inside == 1);
}

TEST_CASE("suspects in front delay no other event, and follow one another without waiting for the poll") {
  const auto latch = std::make_shared<Latch>();
  SuspectCalls calls;
  DispatcherFixture fixture{never_polling()};
  for (std::int64_t id = 1; id <= 40; ++id) {
    calls.suspects.insert(id);
    fixture.database.add(lease_after(suspect_claims, id));
  }
  for (std::int64_t id = 101; id <= 120; ++id) fixture.database.add(lease_after(1, id));
  fixture.run(calls.function(7, latch));
  REQUIRE(eventually([&] { return latch->waiting == 1 && fixture.database.done() == 20; }));
  latch->open();
  REQUIRE(eventually([&] { return fixture.database.done() == 60; }));
  CHECK(calls.most_inside == 1);
}

TEST_CASE("the suspects of several handlers take turns") {
  SuspectCalls calls;
  DispatcherFixture fixture{never_polling()};
  for (std::int64_t id = 1; id <= 20; ++id) {
    calls.suspects.insert(id);
    fixture.database.add(lease_after(suspect_claims, id, id <= 10 ? 7 : 8));
  }
  fixture.dispatcher.replace_handlers(two_handlers(calls.function(7), calls.function(8)));
  fixture.dispatcher.start();
  REQUIRE(eventually([&] { return fixture.database.done() == 20; }));
  const std::lock_guard lock{calls.mutex};
  for (std::size_t i = 1; i < calls.order.size(); ++i) CHECK(calls.order[i] != calls.order[i - 1]);
}

namespace {

constexpr std::int32_t few_chances = 8;

/// A due suspect with few chances left, beside a running call of another handler.
struct IsolationFixture {
  explicit IsolationFixture(const Dispatcher::Limits& limits) : fixture{never_polling(), limits} {
    calls.suspects = {1, 2};
    auto other = lease_of({2}, 2, 0, 8);
    auto suspect = lease_after(few_chances, 1);
    fixture.database.add(std::move(other));
    fixture.dispatcher.replace_handlers(two_handlers(calls.function(7, suspect_latch), calls.function(8, other_latch)));
    fixture.dispatcher.start();
    REQUIRE(eventually([&] { return other_latch->waiting == 1 && fixture.caught_up(); }));
    {
      const std::lock_guard lock{fixture.database.mutex};
      fixture.database.due_again.emplace(1, suspect);
    }
    fixture.database.add(std::move(suspect));
    fixture.dispatcher.notify_due(7);
  }
  bool released_suspect() {
    return fixture.database.read([](const auto& it) { return it.released == std::vector<std::int64_t>{1}; });
  }

  const std::shared_ptr<Latch> suspect_latch = std::make_shared<Latch>();
  const std::shared_ptr<Latch> other_latch = std::make_shared<Latch>();
  SuspectCalls calls;
  DispatcherFixture fixture;
};

}  // namespace

TEST_CASE("a suspect with few chances left waits for the running calls and then runs alone") {
  IsolationFixture isolation{DispatcherFixture::quick()};
  DispatcherFixture& fixture = isolation.fixture;
  REQUIRE(eventually([&] { return isolation.released_suspect(); }));
  CHECK(isolation.suspect_latch->waiting == 0);
  isolation.other_latch->open();
  REQUIRE(eventually([&] { return isolation.suspect_latch->waiting == 1; }));
  CHECK(fixture.database.done() == 1);
  // The other handler has no room either.
  fixture.database.add(lease_of({3}, 3, 0, 8));
  CHECK(fixture.dispatcher.reserve(8, 1, 100).events == 0);
  fixture.dispatcher.notify_due(8);
  CHECK(fixture.database.done() == 1);
  isolation.suspect_latch->open();
  REQUIRE(eventually([&] { return fixture.database.done() == 3; }));
  REQUIRE(eventually([&] { return fixture.dispatcher.idle(); }));
  CHECK(fixture.dispatcher.reserve(8, 1, 100).events == 1);
  fixture.dispatcher.release(8, 1);
}

TEST_CASE("neither slow calls nor a slow suspect hold up all handlers for ever") {
  auto limits = DispatcherFixture::quick();
  limits.claimer.suspects.isolation.emptying = limits.claimer.suspects.isolation.running = milliseconds{30};
  IsolationFixture isolation{limits};
  DispatcherFixture& fixture = isolation.fixture;
  REQUIRE(eventually([&] { return isolation.suspect_latch->waiting == 1; }));
  CHECK(isolation.other_latch->waiting == 1);
  fixture.database.add(lease_of({3}, 3, 0, 8));
  CHECK(eventually([&] { return fixture.database.done() == 1; }));
  isolation.suspect_latch->open();
  isolation.other_latch->open();
  CHECK(eventually([&] { return fixture.database.done() == 3; }));
}

TEST_CASE("after an isolation, no other suspect is isolated for ten times as long") {
  SuspectIsolation isolation{{}};
  const auto begin = SuspectIsolation::Clock::now();
  CHECK_FALSE(isolation.is_resting(begin));
  isolation.begin(7, {}, begin);
  const auto end = begin + seconds{2};
  CHECK(isolation.turn({}, end) == nullptr);
  isolation.review({}, false, end);
  CHECK_FALSE(isolation.is_on());
  CHECK(isolation.is_resting(end + seconds{19}));
  CHECK_FALSE(isolation.is_resting(end + seconds{20}));
}

TEST_CASE("a suspect that waits for its isolation stops no handler") {
  auto limits = DispatcherFixture::quick();
  limits.claimer.suspects.isolation.emptying = seconds{1};
  IsolationFixture isolation{limits};
  DispatcherFixture& fixture = isolation.fixture;
  // The other handler's call delayed the first isolation by a second, so the rest takes ten.
  REQUIRE(eventually([&] { return isolation.suspect_latch->waiting == 1; }));
  auto next = lease_after(few_chances, 4);
  {
    const std::lock_guard lock{fixture.database.mutex};
    fixture.database.due_again.emplace(4, next);
  }
  fixture.database.add(std::move(next));
  isolation.suspect_latch->open();
  REQUIRE(eventually([&] { return fixture.database.done() == 1; }));
  fixture.dispatcher.notify_due(7);
  fixture.database.add(lease_of({3}, 3, 0, 8));
  fixture.dispatcher.notify_due(8);
  isolation.other_latch->open();
  CHECK(eventually([&] { return fixture.database.done() == 3; }));
  CHECK(isolation.released_suspect());  // only the first: no handler was stopped for the next
}

}  // namespace inboxd::dispatcher
