// Handlers that keep order, with workers, a settler and a claimer on a database in memory.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "unit/queue/keyed_runs.hpp"
#include "unit/workers/transaction_fixture.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace test;
using event::Verdict;

config::Handler sequential(int concurrency, int events_per_call) {
  auto out = test::handler({.concurrency = concurrency, .events_per_call = events_per_call});
  out.mode = config::Mode::sequential;
  out.retry.base = out.retry.cap = std::chrono::hours{1};
  return out;
}

/// A due run of one key.
inbox::LeasedRun run_of_key(const std::string& key, std::int64_t first, std::size_t count, std::int64_t delivery_id) {
  return lease_with_keys(first, std::vector<std::string>(count, key), delivery_id);
}

Ids waiting(const std::vector<inbox::Settlement>& settled) {
  Ids out;
  for (const auto& lane : test::all_of(settled, &inbox::Settlement::waiting)) {
    for (const auto& range : lane.offsets.ranges()) {
      for (auto offset = range.first; offset < range.end; ++offset) out.push_back(offset);
    }
  }
  return out;
}

struct Ordered : DispatcherFixture {
  using DispatcherFixture::DispatcherFixture;
  void run_in_order(test::HandlerFunction function, const config::Handler& settings) {
    start(test::setup(std::move(function), settings));
    dispatcher.assigned(sequence_of_runs);
  }
  Ids all_waiting() const {
    return database.read([](const auto& it) { return waiting(it.settled); });
  }
};

struct OrderedTransactions : test::Transactions {
  void run_in_order(test::HandlerFunction function) {
    base.start(setup_of(std::move(function), sequential(2, 1)));
    base.dispatcher.assigned(sequence_of_runs);
  }
  void add(inbox::LeasedRun run) {
    base.database.add_in_order(std::move(run));
    base.dispatcher.notify_due(7);
  }
};

}  // namespace

TEST_CASE("workers call the events of a key in order, whatever their number and the size of calls") {
  const int events_per_call = GENERATE(1, 3, 100);
  test::SeenEvents seen;
  Ordered it;
  for (std::int64_t i = 0; i < 10; ++i) it.database.add_in_order(run_of_key("k", i * 20, 20, i + 1));
  it.run_in_order([&](std::int64_t offset) { seen.note(offset); }, sequential(4, events_per_call));
  REQUIRE(it.done(200));
  CHECK(seen.read() == offsets_from(0, 200));
}

TEST_CASE("events that leave a worker whose call is slow wait once, in their lane, if that call fails") {
  test::SeenEvents seen;
  Ordered it;
  it.database.add_in_order(run_of_key("fast", 0, 2'000, 1));  // so that batches are large
  Ids expected;
  for (std::int64_t i = 0; i < 3; ++i) {
    it.database.add_in_order(run_of_key("k" + std::to_string(i), 2'000 + i * 40, 40, i + 2));
    for (const auto offset : offsets_from(2'000 + i * 40, 21)) expected.push_back(offset);
  }
  it.run_in_order(
      [&](std::int64_t offset) {
        if (offset < 2'000) return Verdict{};
        seen.note(offset);
        if (offset % 40 != 20) return Verdict{};
        std::this_thread::sleep_for(std::chrono::milliseconds{300});
        return retry();
      },
      sequential(1, 1));
  REQUIRE(eventually([&] { return it.all_waiting().size() == 3 * 19; }));
  Ids called = seen.read();
  std::sort(called.begin(), called.end());  // keys run in any order
  CHECK(called == expected);
}

TEST_CASE("in transactions, the next event of a key runs once the one before is committed") {
  test::SeenEvents seen;
  OrderedTransactions it;
  it.run_in_order([&](std::int64_t offset) { seen.note(offset); });
  for (const std::int64_t first : {0, 4}) {
    it.add(run_of_key("k", first, 4, first + 1));
    REQUIRE(eventually([&] { return it.done() == first + 4; }));
  }
  CHECK(seen.read() == offsets_from(0, 8));
}

TEST_CASE("in transactions, a failed event blocks its key") {
  OrderedTransactions it;
  it.run_in_order([](std::int64_t offset) { return offset == 0 ? retry() : Verdict{}; });
  it.add(lease_with_keys(0, {"k", "other", "k"}, 1));
  REQUIRE(eventually([&] { return it.done() == 1; }));
  CHECK(it.read([](const auto& script) { return waiting(script.settled); }) == Ids{2});
  it.add(lease_with_keys(3, {"k", "other"}, 2));
  REQUIRE(eventually([&] { return it.done() == 2; }));
  REQUIRE(eventually(
      [&] { return it.base.database.read([](const auto& one) { return waiting(one.settled); }) == Ids{3}; }));
}

TEST_CASE("suspects follow each other without waiting for a poll, or for another sequence") {
  constexpr std::int32_t slow = sequence_of_runs + 1;
  const test::Latch latch;
  Ordered it{test::polling(std::chrono::hours{1})};
  const auto add = [&](std::int32_t sequence, std::int64_t first) {
    auto run = run_of_key("k", first, 4, first + 1);
    run.sequence = sequence;
    if (sequence != slow) run.claims = inbox::suspected_after + 1;
    it.database.add_in_order(std::move(run));
  };
  add(slow, 100);
  for (std::int64_t i = 0; i < 8; ++i) add(sequence_of_runs, i * 4);
  const auto claims = [&] { return it.database.get(&FakeDatabase::claims_in_order); };
  it.run_in_order(
      [&, latch](std::int64_t offset) {
        if (offset == 100) return latch.wait();
        const int before = claims();  // the claimer looks for work meanwhile, and finds none
        it.dispatcher.notify_due(7);
        CHECK(eventually([&] { return claims() > before; }));
      },
      sequential(2, 1));
  it.dispatcher.assigned(slow);
  CHECK(it.done(32));
  latch.open();
  CHECK(it.done(36));
}

TEST_CASE("what a claim in order without an answer may have leased is released before the next claim") {
  Ordered it;
  it.database.lost_claims_in_order = 1;
  it.database.add_in_order(run_of_key("k", 0, 4, 1));
  it.run_in_order(test::handle_done, sequential(1, 1));
  REQUIRE(it.done(4));
  CHECK(it.database.get(&FakeDatabase::released_fences).size() == 1);
  CHECK(it.database.get(&FakeDatabase::taken_sequences) == std::vector{sequence_of_runs});
}

}  // namespace inboxd::dispatcher
