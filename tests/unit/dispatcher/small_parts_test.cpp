// Reservations, due times, own events: the small pure parts.
#include <catch2/catch_test_macros.hpp>

#include "dispatcher/due_times.hpp"
#include "dispatcher/own_events.hpp"
#include "dispatcher/reservations.hpp"
#include "unit/settler/runs.hpp"

namespace inboxd::dispatcher {
namespace {

using Clock = Reservations::Clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Ids of threads that are told apart.
struct Threads {
  std::thread::id first = std::this_thread::get_id();
  std::thread::id second;
  Threads() {
    std::thread other{[&] { second = std::this_thread::get_id(); }};
    other.join();
  }
};

}  // namespace

TEST_CASE("a run is leased until its own thread's reservation said") {
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

TEST_CASE("reservations leave nothing behind, whatever was said of bytes") {
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

TEST_CASE("a stranger's reservation ends the one with the earliest end") {
  const Threads threads;
  const Clock::time_point t{};
  Reservations reservations;
  reservations.reserve(threads.first, 5, 5, t + seconds{1});
  CHECK(reservations.end(threads.second, 5) == t + seconds{1});
  CHECK(reservations.events() == 0);
}

TEST_CASE("due times close together are one, never earlier than asked for") {
  DueTimes times;
  const Clock::time_point t{seconds{1'000}};
  times.add(t + milliseconds{1});
  times.add(t + milliseconds{2});
  times.add(t + milliseconds{200});
  REQUIRE(times.next());
  CHECK(*times.next() > t + milliseconds{2});
  CHECK(*times.next() <= t + milliseconds{22});
  CHECK_FALSE(times.take_due(t));
  CHECK(times.take_due(t + milliseconds{30}));
  CHECK(*times.next() > t + milliseconds{200});
}

TEST_CASE("due times are bounded and keep the nearest") {
  DueTimes times;
  const Clock::time_point t{seconds{1'000}};
  for (int i = 3'000; i > 0; --i) times.add(t + seconds{i});
  CHECK(*times.next() <= t + seconds{1} + DueTimes::together);
  std::size_t left = 0;
  for (; times.next(); ++left) times.take_due(*times.next());
  CHECK(left == DueTimes::limit);
}

TEST_CASE("a small part of a large batch gets its events for itself, faithfully") {
  auto lease = test::lease_of(test::offsets_from(0, 2'000));
  lease.events = {lease.events[7], lease.events[9]};
  auto batch = std::weak_ptr{lease.block};
  own_events(lease, bytes_of(lease));
  CHECK(batch.expired());
  REQUIRE(lease.events.size() == 2);
  CHECK(lease.events[0]->offset == 7);
  CHECK(lease.events[0]->payload == "payload 7");
  CHECK(lease.events[0]->key == std::nullopt);
  CHECK(lease.events[1]->event_type == "Made");
  CHECK(lease.events[1]->event_id.bytes[15] == 9);
}

TEST_CASE("a run that is most of its batch is left where it is") {
  auto lease = test::lease_of(test::offsets_from(0, 2'000));
  const auto block = lease.block;
  own_events(lease, bytes_of(lease));
  CHECK(lease.block == block);
}

}  // namespace inboxd::dispatcher
