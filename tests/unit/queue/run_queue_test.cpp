#include "queue/run_queue.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using Clock = RunQueue::Clock;
using std::chrono::seconds;
using test::lease_of;
using test::offsets_from;
using test::run_of;

const Clock::time_point now{seconds{1'000}};
const Clock::time_point lease_end = now + seconds{30};

std::shared_ptr<settler::Run> add(RunQueue& queue, std::size_t events, std::int64_t id,
                                  Clock::time_point end = lease_end) {
  auto run = run_of(lease_of(offsets_from(0, events), id));
  queue.add(run, static_cast<std::int64_t>(events) * 10, end);
  return run;
}

}  // namespace

TEST_CASE("events are taken in order, from several runs if one has too few") {
  RunQueue queue;
  const auto first = add(queue, 3, 1);
  const auto second = add(queue, 3, 2);
  const auto slices = queue.take(4, now);
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].run == first);
  CHECK(slices[0].size() == 3);
  CHECK(slices[1].run == second);
  CHECK(slices[1].first == 0);
  CHECK(slices[1].end == 1);
  CHECK(queue.queued() == 2);
  CHECK(queue.events() == 6);
}

TEST_CASE("settled events free room, taken ones do not") {
  RunQueue queue;
  const auto run = add(queue, 10, 1);
  queue.take(10, now);
  CHECK(queue.events() == 10);
  CHECK(queue.bytes() == 100);
  queue.settled(*run, 3);
  CHECK(queue.events() == 7);
  CHECK(queue.bytes() == 70);
  queue.settled(*run, 7);
  CHECK(queue.events() == 0);
  CHECK(queue.bytes() == 0);
  CHECK(queue.runs() == 0);
  CHECK(queue.released_runs() == 0);
}

TEST_CASE("events that a worker puts back come first") {
  RunQueue queue;
  const auto run = add(queue, 10, 1);
  auto slices = queue.take(6, now);
  slices[0].first = 2;
  queue.put_back(std::move(slices));
  CHECK(queue.queued() == 8);
  const auto again = queue.take(1, now);
  CHECK(again[0].first == 2);
}

TEST_CASE("events with an expired lease are dropped before their call, counted and released") {
  RunQueue queue;
  add(queue, 5, 1, now - seconds{1});
  const auto fresh = add(queue, 2, 2);
  const auto slices = queue.take(10, now);
  REQUIRE(slices.size() == 1);
  CHECK(slices[0].run == fresh);
  CHECK(queue.expired() == 5);
  CHECK(queue.events() == 2);
  CHECK(queue.take_released() == std::vector<inbox::LeaseKey>{{1, 1'001}});
}

TEST_CASE("the events of a lost run are not taken") {
  RunQueue queue;
  const auto run = add(queue, 5, 1);
  auto taken = queue.take(2, now);
  CHECK(queue.lost(*run, 0));
  CHECK(queue.events() == 2);
  CHECK(queue.take(5, now).empty());
  queue.put_back(std::move(taken));
  CHECK(queue.bytes() == 0);
  CHECK(queue.runs() == 0);
  CHECK(queue.take_released().empty());
  queue.settled(*run, 2);
  CHECK(queue.queued() == 0);
  CHECK(queue.events() == 0);
}

TEST_CASE("a lost run stays until the outcomes of its running calls are reported") {
  RunQueue queue;
  const auto run = add(queue, 5, 1);
  queue.take(5, now);
  CHECK(queue.lost(*run, 2));
  CHECK(queue.runs() == 1);
  CHECK_FALSE(queue.lost(*run, 2));
  CHECK(queue.events() == 1);
  CHECK(queue.leases_ending_before(Clock::time_point::max()).empty());
  CHECK_FALSE(queue.lost(*run, 1));
  CHECK(queue.runs() == 0);
  CHECK(queue.bytes() == 0);
  CHECK(queue.take_released().empty());
}

TEST_CASE("untouched runs are released at once, youngest first") {
  RunQueue queue;
  add(queue, 5, 1);
  add(queue, 5, 2);
  add(queue, 5, 3);
  queue.release(10);
  CHECK(queue.queued() == 10);
  CHECK(queue.events() == 10);
  const auto left = queue.take_released();
  REQUIRE(left.size() == 1);
  CHECK(left[0].delivery_id == 3);
  CHECK(queue.released() == 5);
  CHECK(queue.take_released().empty());
}

TEST_CASE("a run is kept if its release would leave the queue too short") {
  RunQueue queue;
  add(queue, 8, 1);
  queue.release(5);
  CHECK(queue.queued() == 8);
  CHECK(queue.released_runs() == 0);
}

TEST_CASE("a run far longer than the wanted queue is released nevertheless") {
  RunQueue queue;
  add(queue, 1'000, 1);
  queue.take(8, now);
  queue.release(8);
  CHECK(queue.queued() == 0);
  CHECK(queue.events() == 8);
}

TEST_CASE("a run with taken events is released once those are settled or put back") {
  RunQueue queue;
  const auto run = add(queue, 10, 1);
  auto taken = queue.take(4, now);
  queue.release(0);
  CHECK(queue.queued() == 0);
  CHECK(queue.events() == 4);
  CHECK(queue.released_runs() == 0);
  queue.settled(*run, 3);
  CHECK(queue.released_runs() == 0);
  taken[0].first = 3;  // the fourth was not called
  queue.put_back(std::move(taken));
  CHECK(queue.events() == 0);
  CHECK(queue.bytes() == 0);
  REQUIRE(queue.released_runs() > 0);
  CHECK(queue.take_released()[0] == run->lease.key);
}

TEST_CASE("a run that was to be released but is settled in full needs no release") {
  RunQueue queue;
  const auto run = add(queue, 4, 1);
  queue.take(4, now);
  queue.release(0);
  queue.settled(*run, 4);
  CHECK(queue.released_runs() == 0);
  CHECK(queue.runs() == 0);
}

TEST_CASE("leases near their end are listed and renewed one by one") {
  RunQueue queue;
  const auto old = add(queue, 1, 1, now + seconds{5});
  add(queue, 1, 2, now + seconds{25});
  auto ending = queue.leases_ending_before(now + seconds{20});
  REQUIRE(ending.size() == 1);
  CHECK(ending[0] == old);
  queue.renewed(*old, now + seconds{30});
  CHECK(queue.leases_ending_before(now + seconds{20}).empty());
}

TEST_CASE("if payloads are wanted, exactly the runs without them are released") {
  RunQueue queue;
  const auto without = [&queue](std::int64_t id) {
    auto lease = lease_of(offsets_from(0, 4), id);
    lease.has_content = false;
    queue.add(run_of(std::move(lease)), 40, lease_end);
  };
  without(1);
  without(2);
  add(queue, 3, 3);
  auto begun = queue.take(2, now);
  queue.want_content(true);
  CHECK(queue.queued() == 3);
  CHECK(queue.take_released() == std::vector<inbox::LeaseKey>{{2, 1'002}});
  without(4);  // claimed before the change
  CHECK(queue.take_released() == std::vector<inbox::LeaseKey>{{4, 1'004}});
  queue.put_back(std::move(begun));
  CHECK(queue.take_released() == std::vector<inbox::LeaseKey>{{1, 1'001}});
  const auto slices = queue.take(10, now);
  REQUIRE(slices.size() == 1);
  CHECK(slices[0].run->lease.key.delivery_id == 3);
}

TEST_CASE("released events do not stay in memory") {
  RunQueue queue;
  std::weak_ptr<settler::Run> run = add(queue, 5, 1);
  add(queue, 5, 2);
  queue.release(0);
  CHECK(run.expired());
}

TEST_CASE("a run that is a small part of its batch gets exact copies of its events") {
  auto lease = lease_of(offsets_from(0, 2'000));
  lease.events = {lease.events[7], lease.events[9]};
  auto batch = std::weak_ptr{lease.block};
  detach_events(lease, bytes_of(lease));
  CHECK(batch.expired());
  REQUIRE(lease.events.size() == 2);
  CHECK(lease.events[0]->offset == 7);
  CHECK(lease.events[0]->payload == "payload 7");
  CHECK(lease.events[0]->key == std::nullopt);
  CHECK(lease.events[1]->event_type == "Made");
  CHECK(lease.events[1]->event_id.bytes[15] == 9);
}

TEST_CASE("a run that is most of its batch is not copied") {
  auto lease = lease_of(offsets_from(0, 2'000));
  const auto block = lease.block;
  detach_events(lease, bytes_of(lease));
  CHECK(lease.block == block);
}

}  // namespace inboxd::dispatcher
