#include "queue/capacity.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

using Clock = Reservations::Clock;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

RoomState state() { return {1'000, 8, 0, 20'000, 1 << 20, 100}; }

/// The ids of two different threads.
struct Threads {
  std::thread::id first = std::this_thread::get_id();
  std::thread::id second;
  Threads() {
    std::thread other{[&] { second = std::this_thread::get_id(); }};
    other.join();
  }
};

}  // namespace

// ---- budgets

TEST_CASE("a handler gets the events that it lacks to its target") {
  auto s = state();
  CHECK(free_room(s) == 1'000);
  s.held = 400;
  CHECK(free_room(s) == 600);
  s.held = 1'500;
  CHECK(free_room(s) == 0);
}

TEST_CASE("a handler's minimum may exceed the limit of events, but not that of bytes") {
  auto s = state();
  s.events_left = 0;
  CHECK(free_room(s) == 8);
  s.held = 6;
  CHECK(free_room(s) == 2);
  s.bytes_left = 150;
  CHECK(free_room(s) == 1);
  s.bytes_left = 0;
  CHECK(free_room(s) == 0);
}

TEST_CASE("one event of any size fits if nothing is held") {
  auto s = state();
  s.bytes_left = 0;
  s.events_left = 0;
  CHECK(free_room(s) == 1);
}

TEST_CASE("a target below the minimum is raised to it") {
  auto s = state();
  s.target = 1;
  CHECK(free_room(s) == 8);
}

TEST_CASE("one handler alone may use all of a budget") {
  Budget budget{1'000};
  CHECK(budget.left_for(0) == 1'000);
  budget.use(budget.common_part(700));
  CHECK(budget.left_for(700) == 300);
  budget.use(budget.common_part(1'000) - budget.common_part(700));
  CHECK(budget.left_for(1'000) == 0);
}

TEST_CASE("a handler that takes all it can leaves the others their share, within the limit") {
  Budget budget{1'000};
  budget.divide(5);
  CHECK(budget.share() == 100);
  budget.use(budget.common_part(600));
  CHECK(budget.left_for(600) == 0);
  for (int other = 0; other < 4; ++other) CHECK(budget.left_for(0) == 100);
  CHECK(600 + 4 * 100 == 1'000);
}

// ---- pace

TEST_CASE("a new handler begins with a modest target, at least one call for each worker") {
  CHECK(Pace{8, 1}.target() == 64);
  CHECK(Pace{8, 500}.target() == 4'000);
  CHECK(Pace{8, 1}.batch_size(64) == 1);
}

TEST_CASE("a fast handler's target grows to thousands within a few turns") {
  Pace pace{8, 1};
  std::int64_t turns = 0;
  while (pace.target() < 10'000) {
    pace.worked(pace.target(), microseconds{10});
    REQUIRE(++turns < 5);
  }
}

TEST_CASE("a slow handler gets about a second of its work") {
  Pace pace{8, 1};
  for (int i = 0; i < 100; ++i) pace.worked(1, milliseconds{100});
  CHECK(pace.target() >= 79);
  CHECK(pace.target() <= 81);
  CHECK(pace.per_second() > 79);
  CHECK(pace.batch_size(1'000) == 1);
}

TEST_CASE("a handler that turns slow loses its target within seconds") {
  Pace pace{8, 1};
  for (int i = 0; i < 1'000; ++i) pace.worked(10'000, milliseconds{1});
  CHECK(pace.target() > 1'000'000);
  for (int calls = 0; calls < 8 * 8; ++calls) pace.worked(1, seconds{1});  // eight workers for eight seconds
  CHECK(pace.target() < 20);
}

TEST_CASE("running calls already show that a handler is slow") {
  Pace pace{8, 1};
  pace.note_running({8, seconds{4}});
  CHECK(pace.target() == 16);
  pace.note_running({});
  CHECK(pace.target() == 64);
}

TEST_CASE("a worker takes about a millisecond of work, an even part of a short queue, and always whole calls") {
  Pace pace{8, 10};
  for (int i = 0; i < 100; ++i) pace.worked(1'000, milliseconds{10});  // 10 us an event
  CHECK(pace.batch_size(100'000) == 100);
  CHECK(pace.batch_size(400) == 50);
  CHECK(pace.batch_size(40) == 20);  // less is not worth waking another worker
  CHECK(pace.batch_size(1) == 20);
  Pace slow{8, 10};
  slow.worked(100, seconds{10});
  CHECK(slow.batch_size(100'000) == 10);
}

TEST_CASE(
    "calls that share a transaction take about 25 milliseconds together; slow calls and the first one run alone") {
  Pace pace{8, 1};
  CHECK(pace.batch_size_in_transactions(1'000) == 1);
  for (int i = 0; i < 100; ++i) pace.worked(100, milliseconds{100});  // 1 ms a call
  CHECK(pace.batch_size_in_transactions(1'000) == 25);
  CHECK(pace.batch_size_in_transactions(16) == 2);  // the other workers get their part of a short queue
  for (int i = 0; i < 100; ++i) pace.worked(1, milliseconds{100});
  CHECK(pace.batch_size_in_transactions(1'000) == 1);
}

// ---- reservations

TEST_CASE("a run's lease ends as its own thread's reservation says") {
  const Threads threads;
  const Clock::time_point t{};
  Reservations reservations;
  reservations.reserve(threads.first, 100, 1'000, t + seconds{1});
  reservations.reserve(threads.second, 50, 500, t + seconds{2});
  CHECK(reservations.end(threads.second, 20) == t + seconds{2});
  CHECK(reservations.end(threads.first, 100) == t + seconds{1});
  CHECK(reservations.events() == 30);
  reservations.reserve(threads.first, 10, 100, t + seconds{5});
  CHECK(reservations.end(threads.first, 10) == t + seconds{5});
}

TEST_CASE("ended reservations leave neither events nor bytes behind") {
  const Threads threads;
  Reservations reservations;
  reservations.reserve(threads.first, 3, 1'000, {});
  reservations.reserve(threads.second, 7, 777, {});
  for (int i = 0; i < 3; ++i) reservations.end(threads.first, 1);
  reservations.end(threads.second, 7);
  CHECK(reservations.events() == 0);
  CHECK(reservations.bytes() == 0);
  reservations.end(threads.first, 5);
  CHECK(reservations.events() == 0);
}

TEST_CASE("a thread without a reservation ends the one whose lease ends first") {
  const Threads threads;
  const Clock::time_point t{};
  Reservations reservations;
  reservations.reserve(threads.first, 5, 5, t + seconds{1});
  CHECK(reservations.end(threads.second, 5) == t + seconds{1});
  CHECK(reservations.events() == 0);
}

}  // namespace inboxd::dispatcher
