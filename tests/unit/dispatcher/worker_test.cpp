// One worker and what it finds in the queue.
#include "dispatcher/worker.hpp"

#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "unit/dispatcher/fake_transactions.hpp"

namespace inboxd::dispatcher {

using test::Bank;
using test::House;
using test::lease_of;
using test::Ledger;
using test::offsets_from;

namespace {

/// What a handler has in hand: these runs, all taken by somebody.
std::shared_ptr<InHand> hand_with(const config::Handler& settings, std::vector<inbox::LeasedRun> runs,
                                  std::vector<Piece>& taken) {
  auto hand = std::make_shared<InHand>(7, settings, std::chrono::milliseconds{1'000},
                                       std::make_shared<Shared>(10'000, 10'000'000));
  hand->configure(settings, {true, false});
  const auto wish = hand->begin_claim(InHand::Clock::now());
  REQUIRE(wish);
  hand->end_claim(*wish, std::move(runs), InHand::Clock::now(), false);
  const std::atomic<bool> stop{false};
  while (hand->stats().queued > 0) {
    for (Piece& piece : hand->take(stop, {})) taken.push_back(std::move(piece));
  }
  return hand;
}

}  // namespace

TEST_CASE("a run that comes in two pieces with another one between is settled once in its transaction") {
  Ledger ledger;
  Bank bank{ledger};
  const auto settings = House::handler(1, 10);
  std::vector<inbox::LeasedRun> runs;
  for (const std::int64_t id : {1, 2}) runs.push_back(lease_of(offsets_from(id * 100, 4), id));
  std::vector<Piece> taken;
  const auto hand = hand_with(settings, std::move(runs), taken);
  REQUIRE(taken.size() == 2);
  hand->put_back({{taken[0].run, 0, 1}, taken[1], {taken[0].run, 2, 4}});

  auto share = std::make_shared<CrewShare>();
  share->in_hand = hand;
  share->instance = std::make_shared<test::SqlInstance>(test::say_done);
  share->transactions = [&](const std::string&) { return std::make_unique<test::MemoryTransaction>(ledger); };
  share->log = &bank.house.log;
  share->ends = std::make_shared<Ends>();
  share->events_per_call = 10;
  share->deadline = std::chrono::seconds{10};
  Worker worker{share, bank.house.settler};
  std::thread thread{[&] { worker.run(); }};
  CHECK(test::eventually([&] { return ledger.done() == 7; }));
  CHECK(test::eventually([&] { return hand->stats().in_hand == 1; }));
  share->stop = true;
  hand->wake();
  thread.join();
  const auto settled = ledger.read([](const auto& it) { return it.settled; });
  REQUIRE(settled.size() == 2);
  CHECK(settled[0].key.delivery_id == 1);
  CHECK(settled[0].done.text() == "{[100,101),[102,104)}");
  CHECK(settled[1].key.delivery_id == 2);
  CHECK(settled[1].whole);
  CHECK(taken[0].run->recorded == 3);
  hand->lost(*taken[0].run);  // what is in hand holds it
}

}  // namespace inboxd::dispatcher
