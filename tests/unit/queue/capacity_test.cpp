#include "queue/capacity.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using Clock = Reservations::Clock;

RoomState state() { return {1'000, 8, 0, 20'000, 1 << 20, 100}; }

/// After so many times these calls of the same length.
Pace& worked(Pace& pace, int times, std::int64_t events, Clock::duration busy) {
  for (int i = 0; i < times; ++i) pace.worked(events, busy);
  return pace;
}

/// The reservations of two threads.
struct TwoThreads : Reservations {
  std::thread::id first = std::this_thread::get_id(), second;
  TwoThreads() {
    std::thread other{[&] { second = std::this_thread::get_id(); }};
    other.join();
  }
};

}  // namespace

TEST_CASE("a handler gets the events that it lacks to its target, which is at least its minimum") {
  auto s = state();
  CHECK(free_room(s) == 1'000);
  s.held = 400;
  CHECK(free_room(s) == 600);
  s.held = 1'500;
  CHECK(free_room(s) == 0);
  s.held = 0;
  s.target = 1;
  CHECK(free_room(s) == 8);
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
  s.held = 0;
  CHECK(free_room(s) == 1);  // one event of any size fits if nothing is held
}

TEST_CASE("a handler may use all of a budget alone, and leaves the others their share, within the limit") {
  Budget alone{1'000}, shared{1'000};
  alone.use(alone.common_part(700));
  CHECK(alone.left_for(700) == 300);
  alone.use(alone.common_part(1'000) - alone.common_part(700));
  CHECK(alone.left_for(1'000) == 0);
  shared.divide(5);
  CHECK(shared.share() == 100);
  shared.use(shared.common_part(600));
  CHECK(shared.left_for(600) == 0);
  CHECK(shared.left_for(0) == 100);
}

TEST_CASE("a new handler begins with room for a large batch, and at least one call for each worker") {
  CHECK(Pace{8, 1}.target() == 2'048);
  CHECK(Pace{8, 500}.target() == 4'000);
  CHECK(Pace{8, 1}.batch_size(64) == 1);
}

TEST_CASE("a handler gets about a second of its work: a fast one thousands of events within a few turns") {
  Pace slow{8, 1}, fast{8, 1};
  worked(slow, 100, 1, 100ms);
  CHECK(slow.target() >= 79);
  CHECK(slow.target() <= 81);
  CHECK(slow.per_second() > 79);
  CHECK(slow.batch_size(1'000) == 1);
  for (int turns = 0; turns < 4; ++turns) fast.worked(fast.target(), 10us);
  CHECK(fast.target() >= 10'000);
}

TEST_CASE("a handler that turns slow loses its target within seconds, and at once while its calls run") {
  Pace pace{8, 1};
  pace.note_running({8, 4s});
  CHECK(pace.target() == 16);
  pace.note_running({});
  CHECK(pace.target() == 2'048);
  CHECK(worked(pace, 1'000, 10'000, 1ms).target() > 1'000'000);
  CHECK(worked(pace, 8 * 8, 1, 1s).target() < 20);  // eight workers for eight seconds
}

TEST_CASE("a worker takes about a millisecond of work, an even part of a short queue, and always whole calls") {
  Pace pace{8, 10}, slow{8, 10};
  worked(pace, 100, 1'000, 10ms);  // 10 us an event
  CHECK(pace.batch_size(100'000) == 100);
  CHECK(pace.batch_size(400) == 50);
  CHECK(pace.batch_size(40) == 20);  // less is not worth waking another worker
  CHECK(pace.batch_size(1) == 20);
  CHECK(worked(slow, 1, 100, 10s).batch_size(100'000) == 10);
}

TEST_CASE("calls that share a transaction take about 25 ms together; slow calls and the first one run alone") {
  Pace pace{8, 1};
  CHECK(pace.batch_size_in_transactions(1'000) == 1);
  worked(pace, 100, 100, 100ms);  // 1 ms a call
  CHECK(pace.batch_size_in_transactions(1'000) == 25);
  CHECK(pace.batch_size_in_transactions(16) == 2);  // the other workers get their part of a short queue
  CHECK(worked(pace, 100, 1, 100ms).batch_size_in_transactions(1'000) == 1);
}

TEST_CASE("a run's lease ends as its own thread's reservation says, or the first one without its own") {
  const Clock::time_point t{};
  TwoThreads it;
  it.reserve(it.first, 100, 1'000, t + 1s);
  it.reserve(it.second, 50, 500, t + 2s);
  CHECK(it.end(it.second, 20) == t + 2s);
  CHECK(it.end(it.first, 100) == t + 1s);
  CHECK(it.events() == 30);
  CHECK(it.end(it.first, 30) == t + 2s);
  CHECK(it.events() == 0);
  it.reserve(it.first, 10, 100, t + 5s);
  CHECK(it.end(it.first, 10) == t + 5s);
}

TEST_CASE("ended reservations leave neither events nor bytes behind") {
  TwoThreads it;
  it.reserve(it.first, 3, 1'000, {});
  it.reserve(it.second, 7, 777, {});
  for (int i = 0; i < 3; ++i) it.end(it.first, 1);
  it.end(it.second, 7);
  it.end(it.first, 5);
  CHECK(it.events() == 0);
  CHECK(it.bytes() == 0);
}

}  // namespace inboxd::dispatcher
