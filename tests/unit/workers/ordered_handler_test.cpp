// Handlers that keep order, with workers, a settler and a claimer on a database in memory.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "unit/queue/keyed_runs.hpp"
#include "unit/workers/transaction_fixture.hpp"

namespace inboxd::dispatcher {
namespace {

using event::Verdict;
using plugin::Delivered;
using support::eventually;
using test::DispatcherFixture;
using test::FakeDatabase;
using test::lease_with_keys;
using test::sequence_of_runs;
using test::SqlInstance;
using test::TransactionFixture;
using test::TransactionScript;
using Offsets = std::vector<std::int64_t>;

config::Handler sequential(int concurrency, int events_per_call) {
  auto out = DispatcherFixture::handler(concurrency, events_per_call);
  out.mode = config::Mode::sequential;
  out.retry.base = out.retry.cap = std::chrono::hours{1};
  return out;
}

std::vector<std::string> all_of_key(const std::string& key, std::size_t count) {
  return std::vector<std::string>(count, key);
}

/// The offsets in the order of the calls.
struct Calls {
  std::mutex mutex;
  Offsets offsets;
  void note(std::int64_t offset) {
    const std::lock_guard lock{mutex};
    offsets.push_back(offset);
  }
  Offsets read() {
    const std::lock_guard lock{mutex};
    return offsets;
  }
};

Offsets waiting(const std::vector<inbox::Settlement>& settled) {
  Offsets out;
  for (const auto& settlement : settled) {
    for (const auto& lane : settlement.waiting) {
      for (const auto& range : lane.offsets.ranges()) {
        for (auto offset = range.first; offset < range.end; ++offset) out.push_back(offset);
      }
    }
  }
  return out;
}

Offsets waiting(const FakeDatabase& database) {
  return database.read([](const FakeDatabase& it) { return waiting(it.settled); });
}

/// A handler with SQL that keeps order.
void run_in_transactions(TransactionFixture& fixture, test::HandlerFunction function) {
  std::vector<HandlerSetup> setup;
  setup.push_back({7, sequential(2, 1), std::make_unique<SqlInstance>(std::move(function)), false});
  fixture.base.dispatcher.replace_handlers(std::move(setup));
  fixture.base.dispatcher.start();
  fixture.base.dispatcher.assigned(sequence_of_runs);
}

}  // namespace

TEST_CASE("workers call the events of a key in order, whatever their number and the size of calls") {
  for (const int events_per_call : {1, 3, 100}) {
    CAPTURE(events_per_call);
    Calls calls;
    DispatcherFixture fixture;
    for (std::int64_t i = 0; i < 10; ++i) {
      fixture.database.add_in_order(lease_with_keys(i * 20, all_of_key("k", 20), i + 1));
    }
    fixture.run(
        [&](const Delivered& each, const auto&) {
          calls.note(each.event->offset);
          return Verdict{};
        },
        sequential(4, events_per_call));
    fixture.dispatcher.assigned(sequence_of_runs);
    REQUIRE(eventually([&] { return fixture.database.done() == 200; }));
    CHECK(calls.read() == test::offsets_from(0, 200));
  }
}

TEST_CASE("events behind a failed one wait in its lane, in the order of the log") {
  Calls calls;
  DispatcherFixture fixture;
  for (std::int64_t i = 0; i < 5; ++i) fixture.database.add_in_order(lease_with_keys(i * 4, all_of_key("k", 4), i + 1));
  fixture.run(
      [&](const Delivered& each, const auto&) {
        calls.note(each.event->offset);
        return each.event->offset == 2 ? test::retry() : Verdict{};
      },
      sequential(4, 1));
  fixture.dispatcher.assigned(sequence_of_runs);
  REQUIRE(eventually([&] { return waiting(fixture.database).size() == 17; }));
  CHECK(calls.read() == Offsets{0, 1, 2});
  CHECK(waiting(fixture.database) == test::offsets_from(3, 17));
  CHECK(fixture.database.retries().size() == 1);
}

TEST_CASE("events that leave a worker whose call is slow wait once, in their lane, if that call fails") {
  Calls calls;
  DispatcherFixture fixture;
  fixture.database.add_in_order(lease_with_keys(0, all_of_key("fast", 2'000), 1));  // so that batches are large
  for (std::int64_t i = 0; i < 3; ++i) {
    fixture.database.add_in_order(lease_with_keys(2'000 + i * 40, all_of_key("k" + std::to_string(i), 40), i + 2));
  }
  fixture.run(
      [&](const Delivered& each, const auto&) {
        calls.note(each.event->offset);
        if (each.event->offset < 2'000 || each.event->offset % 40 != 20) return Verdict{};
        std::this_thread::sleep_for(std::chrono::milliseconds{300});
        return test::retry();
      },
      sequential(1, 1));
  fixture.dispatcher.assigned(sequence_of_runs);
  REQUIRE(eventually([&] { return waiting(fixture.database).size() == 3 * 19; }));
  Offsets expected;
  for (std::int64_t i = 0; i < 3; ++i) {
    for (const auto offset : test::offsets_from(2'000 + i * 40, 21)) expected.push_back(offset);
  }
  Offsets called = calls.read();
  std::erase_if(called, [](std::int64_t offset) { return offset < 2'000; });
  std::sort(called.begin(), called.end());  // keys run in any order
  CHECK(called == expected);
}

TEST_CASE("in transactions, the next event of a key runs once the one before is committed") {
  TransactionScript script;
  TransactionFixture fixture{script};
  Calls calls;
  fixture.base.database.add_in_order(lease_with_keys(0, all_of_key("k", 4), 1));
  run_in_transactions(fixture, [&](const Delivered& each, const auto&) {
    calls.note(each.event->offset);
    return Verdict{};
  });
  REQUIRE(eventually([&] { return script.done() == 4; }));
  fixture.base.database.add_in_order(lease_with_keys(4, all_of_key("k", 4), 2));
  fixture.base.dispatcher.notify_due(7);
  REQUIRE(eventually([&] { return script.done() == 8; }));
  CHECK(calls.read() == test::offsets_from(0, 8));
}

TEST_CASE("in transactions, a failed event blocks its key") {
  TransactionScript script;
  TransactionFixture fixture{script};
  fixture.base.database.add_in_order(lease_with_keys(0, {"k", "other", "k"}, 1));
  run_in_transactions(
      fixture, [](const Delivered& each, const auto&) { return each.event->offset == 0 ? test::retry() : Verdict{}; });
  REQUIRE(eventually([&] { return script.done() == 1; }));
  CHECK(script.read([](const auto& it) { return waiting(it.settled); }) == Offsets{2});
  fixture.base.database.add_in_order(lease_with_keys(3, {"k", "other"}, 2));
  fixture.base.dispatcher.notify_due(7);
  REQUIRE(eventually([&] { return script.done() == 2; }));
  REQUIRE(eventually([&] { return waiting(fixture.base.database) == Offsets{3}; }));
}

TEST_CASE("suspects follow each other without waiting for a poll, or for another sequence") {
  constexpr std::int32_t slow = sequence_of_runs + 1;
  DispatcherFixture fixture{{std::chrono::hours{1}}};
  const auto add = [&](std::int32_t sequence, std::int64_t first) {
    auto run = lease_with_keys(first, all_of_key("k", 4), first + 1);
    run.sequence = sequence;
    if (sequence != slow) run.claims = inbox::suspected_after + 1;
    fixture.database.add_in_order(std::move(run));
  };
  add(slow, 100);
  for (std::int64_t i = 0; i < 8; ++i) add(sequence_of_runs, i * 4);
  const auto claims = [&] { return fixture.database.read([](const auto& it) { return it.claims_in_order; }); };
  const auto latch = std::make_shared<test::Latch>();
  fixture.run(
      [&](const Delivered& each, const auto&) {
        if (each.event->offset == 100) {
          latch->wait();
          return Verdict{};
        }
        const int before = claims();  // the claimer looks for work meanwhile, and finds none
        fixture.dispatcher.notify_due(7);
        CHECK(eventually([&] { return claims() > before; }));
        return Verdict{};
      },
      sequential(2, 1));
  fixture.dispatcher.assigned(sequence_of_runs);
  fixture.dispatcher.assigned(slow);
  CHECK(eventually([&] { return fixture.database.done() == 32; }));
  latch->open();
  CHECK(eventually([&] { return fixture.database.done() == 36; }));
}

TEST_CASE("what a claim in order without an answer may have leased is released before the next claim") {
  DispatcherFixture fixture;
  fixture.database.lost_claims_in_order = 1;
  fixture.database.add_in_order(lease_with_keys(0, all_of_key("k", 4), 1));
  fixture.run(test::handle_done, sequential(1, 1));
  fixture.dispatcher.assigned(sequence_of_runs);
  REQUIRE(eventually([&] { return fixture.database.done() == 4; }));
  CHECK(fixture.database.read([](const auto& it) { return it.released_fences.size(); }) == 1);
  using Numbers = std::vector<std::int32_t>;
  CHECK(fixture.database.read([](const auto& it) { return it.taken_sequences; }) == Numbers{sequence_of_runs});
}

}  // namespace inboxd::dispatcher
