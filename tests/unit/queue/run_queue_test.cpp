#include "queue/run_queue.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace test;
using Clock = RunQueue::Clock;
using Keys = std::vector<inbox::LeaseKey>;
using std::chrono::seconds;

const Clock::time_point now{seconds{1'000}};

struct Queue : RunQueue {
  std::shared_ptr<settler::Run> add(std::size_t events, std::int64_t id = 1, seconds lease = seconds{30}) {
    auto run = run_of(lease_of(offsets_from(0, events), id));
    RunQueue::add(run, static_cast<std::int64_t>(events) * 10, now + lease);
    return run;
  }
  /// The numbers of events: in flight, and queued.
  void has(std::int64_t in_flight, std::int64_t in_queue) const {
    CHECK(events() == in_flight);
    CHECK(bytes() == in_flight * 10);
    CHECK(queued() == in_queue);
  }
};

}  // namespace

TEST_CASE("events are taken in order, from several runs if one has too few, and first those put back") {
  Queue queue;
  const auto first = queue.add(3), second = queue.add(3, 2);
  auto slices = queue.take(4, now);
  REQUIRE(slices.size() == 2);
  CHECK((slices[0].run == first && slices[0].first == 0 && slices[0].end == 3));
  CHECK((slices[1].run == second && slices[1].first == 0 && slices[1].end == 1));
  queue.has(6, 2);
  slices[0].first = 2;
  queue.put_back(std::move(slices));
  queue.has(6, 4);
  slices = queue.take(1, now);
  CHECK((slices.at(0).run == first && slices[0].first == 2));
}

TEST_CASE("the events of a lost run are not taken, and it stays until its running calls are reported or put back") {
  const bool is_reported = GENERATE(false, true);
  Queue queue;
  const auto run = queue.add(5);
  auto taken = queue.take(3, now);
  CHECK(queue.lost(*run, 1));
  CHECK(queue.take(5, now).empty());
  queue.has(2, 0);
  CHECK(queue.leases_ending_before(Clock::time_point::max()).empty());
  taken[0].first = 1;
  if (is_reported) CHECK_FALSE(queue.lost(*run, 2));
  if (!is_reported) queue.put_back(std::move(taken));
  queue.settled(*run, 2);
  queue.has(0, 0);
  CHECK_FALSE(queue.holds(*run));
  CHECK(queue.take_released().empty());
}

TEST_CASE("untouched runs are released at once, youngest first, and do not stay in memory") {
  Queue queue;
  queue.add(5, 1);
  queue.add(5, 2);
  const std::weak_ptr<settler::Run> youngest = queue.add(5, 3);
  queue.release(10);
  queue.has(10, 10);
  CHECK(queue.take_released() == Keys{{3, 1'003}});
  CHECK(queue.released() == 5);
  CHECK(queue.take_released().empty());
  CHECK(youngest.expired());
}

TEST_CASE("a run is kept if its release would leave the queue too short, unless it is far longer") {
  Queue queue;
  queue.add(8);
  queue.release(5);
  queue.has(8, 8);
  queue.add(1'000, 2);
  queue.take(16, now);
  queue.release(8);
  queue.has(16, 0);
}

TEST_CASE("a run with taken events is released once those are settled or put back, unless all are settled") {
  Queue queue;
  const auto run = queue.add(4);
  auto taken = queue.take(3, now);
  queue.release(0);
  queue.has(3, 0);
  queue.settled(*run, 2);
  CHECK(queue.released_runs() == 0);
  taken[0].first = 2;  // the third was not called
  queue.put_back(std::move(taken));
  queue.has(0, 0);
  CHECK(queue.take_released() == Keys{run->lease.key});

  const auto settled = queue.add(4);
  queue.take(4, now);
  queue.release(0);
  queue.settled(*settled, 4);
  CHECK(queue.released_runs() == 0);
  CHECK_FALSE(queue.holds(*settled));
}

TEST_CASE("a run that is a small part of its batch gets exact copies of its events, and a large one does not") {
  auto lease = lease_of(offsets_from(0, 2'000));
  const std::weak_ptr batch{lease.block};
  detach_events(lease, bytes_of(lease));
  CHECK(lease.block == batch.lock());
  lease.events = {lease.events[7], lease.events[9]};
  detach_events(lease, bytes_of(lease));
  CHECK(batch.expired());
  REQUIRE(lease.events.size() == 2);
  CHECK(lease.events[0]->offset == 7);
  CHECK(lease.events[0]->payload == "payload 7");
  CHECK(lease.events[0]->key == std::nullopt);
  CHECK(lease.events[1]->event_type == "Made");
  CHECK(lease.events[1]->event_id.bytes[15] == 9);
}

}  // namespace inboxd::dispatcher
