// One worker and its queue.
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "unit/queue/questions.hpp"
#include "unit/workers/transaction_fixture.hpp"
#include "workers/transactional_worker.hpp"

namespace inboxd::dispatcher {

using namespace test;

namespace {

/// A handler with these runs in flight, all of them taken from the queue.
std::shared_ptr<InFlight> in_flight_with(const config::Handler& settings, std::vector<inbox::LeasedRun> runs,
                                         std::vector<RunSlice>& taken) {
  auto in_flight = test::in_flight_of(settings);
  in_flight->configure(settings, {true, false});
  REQUIRE(test::claim(*in_flight, std::move(runs)));
  const std::atomic<bool> stop{false};
  while (in_flight->stats().queued > 0) {
    for (RunSlice& slice : in_flight->take(stop, {}).slices) taken.push_back(std::move(slice));
  }
  return in_flight;
}

}  // namespace

TEST_CASE("a run in two slices with another run between them is settled once in its transaction") {
  Transactions it;
  const auto settings = test::handler({.concurrency = 1, .events_per_call = 10});
  std::vector<inbox::LeasedRun> runs;
  for (const std::int64_t id : {1, 2}) runs.push_back(lease_of(offsets_from(id * 100, 4), id));
  std::vector<RunSlice> taken;
  const auto in_flight = in_flight_with(settings, std::move(runs), taken);
  REQUIRE(taken.size() == 2);
  in_flight->put_back({{taken[0].run, 0, 1}, taken[1], {taken[0].run, 2, 4}});

  auto share = std::make_shared<WorkerPoolShare>();
  share->in_flight = in_flight;
  share->instance = std::make_shared<test::SqlInstance>(test::handle_done);
  share->transactions = [&](const std::string&) { return std::make_unique<test::FakeTransaction>(it); };
  share->log = &it.base.log;
  share->exits = std::make_shared<ThreadExits>();
  share->events_per_call = 10;
  share->deadline = std::chrono::seconds{10};
  TransactionalWorker worker{share, it.base.settler};
  std::thread thread{[&] { worker.run(); }};
  CHECK(test::eventually([&] { return it.done() == 7; }));
  CHECK(test::eventually([&] { return in_flight->stats().in_flight == 1; }));
  share->stop = true;
  in_flight->wake();
  thread.join();
  const auto& settled = it.settled;
  REQUIRE(settled.size() == 2);
  CHECK(settled[0].key.delivery_id == 1);
  CHECK(settled[0].done.text() == "{[100,101),[102,104)}");
  CHECK(settled[1].key.delivery_id == 2);
  CHECK(settled[1].whole);
  CHECK(taken[0].run->recorded == 3);
  in_flight->lost(*taken[0].run, 1'000);  // a run keeps its owner alive, and the owner the run
}

}  // namespace inboxd::dispatcher
