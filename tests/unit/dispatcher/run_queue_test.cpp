#include "dispatcher/run_queue.hpp"

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

TEST_CASE("events are taken in order, across runs where one is not enough") {
  RunQueue queue;
  const auto first = add(queue, 3, 1);
  const auto second = add(queue, 3, 2);
  const auto pieces = queue.take(4, now);
  REQUIRE(pieces.size() == 2);
  CHECK(pieces[0].run == first);
  CHECK(pieces[0].size() == 3);
  CHECK(pieces[1].run == second);
  CHECK(pieces[1].first == 0);
  CHECK(pieces[1].end == 1);
  CHECK(queue.queued() == 2);
  CHECK(queue.events() == 6);
}

TEST_CASE("room is free when events are settled, not when they are taken") {
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
  CHECK_FALSE(queue.any_left());
}

TEST_CASE("what a worker puts back comes first") {
  RunQueue queue;
  const auto run = add(queue, 10, 1);
  auto pieces = queue.take(6, now);
  pieces[0].first = 2;
  queue.put_back(std::move(pieces));
  CHECK(queue.queued() == 8);
  const auto again = queue.take(1, now);
  CHECK(again[0].first == 2);
}

TEST_CASE("events whose lease has certainly run out are dropped before their call, counted and given back") {
  RunQueue queue;
  add(queue, 5, 1, now - seconds{1});
  const auto fresh = add(queue, 2, 2);
  const auto pieces = queue.take(10, now);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].run == fresh);
  CHECK(queue.expired() == 5);
  CHECK(queue.events() == 2);
  CHECK(queue.take_left() == std::vector<inbox::LeaseKey>{{1, 1'001}});
}

TEST_CASE("a lost run's events are taken no more") {
  RunQueue queue;
  const auto run = add(queue, 5, 1);
  auto taken = queue.take(2, now);
  queue.lost(*run);
  CHECK(queue.events() == 0);
  CHECK(queue.bytes() == 0);
  CHECK(queue.take(5, now).empty());
  queue.put_back(std::move(taken));
  queue.settled(*run, 2);
  CHECK(queue.queued() == 0);
  CHECK(queue.events() == 0);
}

TEST_CASE("runs that nobody has begun are given back at once, the youngest first") {
  RunQueue queue;
  add(queue, 5, 1);
  add(queue, 5, 2);
  add(queue, 5, 3);
  queue.leave(10);
  CHECK(queue.queued() == 10);
  CHECK(queue.events() == 10);
  const auto left = queue.take_left();
  REQUIRE(left.size() == 1);
  CHECK(left[0].delivery_id == 3);
  CHECK(queue.given_back() == 5);
  CHECK(queue.take_left().empty());
}

TEST_CASE("a run is kept where giving it back would leave too little") {
  RunQueue queue;
  add(queue, 8, 1);
  queue.leave(5);
  CHECK(queue.queued() == 8);
  CHECK_FALSE(queue.any_left());
}

TEST_CASE("a run far longer than wanted is given back all the same") {
  RunQueue queue;
  add(queue, 1'000, 1);
  queue.take(8, now);
  queue.leave(8);
  CHECK(queue.queued() == 0);
  CHECK(queue.events() == 8);
}

TEST_CASE("a run that workers have begun is given back when what they have is settled") {
  RunQueue queue;
  const auto run = add(queue, 10, 1);
  auto taken = queue.take(4, now);
  queue.leave(0);
  CHECK(queue.queued() == 0);
  CHECK(queue.events() == 4);
  CHECK_FALSE(queue.any_left());
  queue.settled(*run, 3);
  CHECK_FALSE(queue.any_left());
  taken[0].first = 3;  // the fourth comes back unworked
  queue.put_back(std::move(taken));
  CHECK(queue.events() == 0);
  CHECK(queue.bytes() == 0);
  REQUIRE(queue.any_left());
  CHECK(queue.take_left()[0] == run->lease.key);
}

TEST_CASE("a run that was settled in full is not given back, though it was to leave") {
  RunQueue queue;
  const auto run = add(queue, 4, 1);
  queue.take(4, now);
  queue.leave(0);
  queue.settled(*run, 4);
  CHECK_FALSE(queue.any_left());
  CHECK(queue.runs() == 0);
}

TEST_CASE("leases near their end are named, and renewed by name") {
  RunQueue queue;
  const auto old = add(queue, 1, 1, now + seconds{5});
  add(queue, 1, 2, now + seconds{25});
  auto ending = queue.ending_before(now + seconds{20});
  REQUIRE(ending.size() == 1);
  CHECK(ending[0] == old);
  queue.renewed(*old, now + seconds{30});
  CHECK(queue.ending_before(now + seconds{20}).empty());
}

TEST_CASE("runs without payloads are given back where payloads are wanted, and only those") {
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
  CHECK(queue.take_left() == std::vector<inbox::LeaseKey>{{2, 1'002}});
  without(4);  // its claim was under way
  CHECK(queue.take_left() == std::vector<inbox::LeaseKey>{{4, 1'004}});
  queue.put_back(std::move(begun));
  CHECK(queue.take_left() == std::vector<inbox::LeaseKey>{{1, 1'001}});
  const auto pieces = queue.take(10, now);
  REQUIRE(pieces.size() == 1);
  CHECK(pieces[0].run->lease.key.delivery_id == 3);
}

TEST_CASE("events given back do not stay in memory") {
  RunQueue queue;
  std::weak_ptr<settler::Run> run = add(queue, 5, 1);
  add(queue, 5, 2);
  queue.leave(0);
  CHECK(run.expired());
}

}  // namespace inboxd::dispatcher
