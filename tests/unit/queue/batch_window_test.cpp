#include "queue/batch_window.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;

namespace inboxd::dispatcher {
namespace {

using Turn = inbox::WindowTurn;
using Read = inbox::SequenceRead::State;
using Clock = BatchWindow::Clock;

constexpr event::Microseconds second = 1'000'000;
const Clock::time_point start{1h};

BatchWindow every_ten_seconds() {
  config::Batch batch;
  batch.every = 10s;
  batch.at_least = 5;
  return BatchWindow{batch, 200ms};
}

/// At that time of the database, in milliseconds.
void turn(BatchWindow& window, Turn::State state, event::Microseconds now, event::Microseconds decided_until) {
  window.turned({state, now * 1'000, decided_until * second, 0, 7}, start);
}

}  // namespace

TEST_CASE("a new owner asks at once, then soon, in case an operator closes the window, and at the next close") {
  BatchWindow window = every_ten_seconds();
  CHECK(window.next_turn() <= start);
  CHECK_FALSE(window.plan().latest);
  turn(window, Turn::State::open, 21'000, 20);
  CHECK(window.next_turn() == start + 200ms);
  turn(window, Turn::State::open, 29'950, 20);
  CHECK_FALSE(window.plan().latest);
  CHECK(window.plan().next == 30 * second);
  CHECK(window.plan().at_least == 5);
  CHECK(window.next_turn() == start + 50ms);
}

TEST_CASE("a close that has come, or was missed, is named in the next question") {
  BatchWindow window = every_ten_seconds();
  turn(window, Turn::State::open, 95'000, 20);
  CHECK(window.next_turn() == start);
  CHECK(window.plan().latest == 90 * second);
  turn(window, Turn::State::postponed, 95'000, 90);
  CHECK_FALSE(window.plan().latest);
  CHECK_FALSE(window.is_running());
}

TEST_CASE("a closed window is read until it has ended, then the database is asked again") {
  BatchWindow window = every_ten_seconds();
  turn(window, Turn::State::closed, 30'000, 30);
  CHECK(window.is_running());
  CHECK(window.events() == 7);
  CHECK(window.next_turn() == Clock::time_point::max());
  window.read(Read::more);
  CHECK_FALSE(window.is_read());
  window.read(Read::end);
  CHECK(window.is_read());
  window.read(Read::more);
  CHECK_FALSE(window.is_read());
  window.read(Read::ended);
  CHECK_FALSE(window.is_running());
  CHECK(window.next_turn() <= start);
}

TEST_CASE("without the sequence a window is unknown, and its new owner asks at once") {
  BatchWindow window = every_ten_seconds();
  turn(window, Turn::State::running, 30'000, 30);
  CHECK(window.is_running());
  CHECK(window.events() == 7);  // also after a restart in the middle of the window
  turn(window, Turn::State::lost, 0, 0);
  CHECK_FALSE(window.is_running());
  CHECK(window.next_turn() <= start);
}

TEST_CASE("without max_wait ten closes are postponed, with it those of that time") {
  CHECK(every_ten_seconds().plan().max_postponed == 10);
  config::Batch batch;
  batch.every = 10s;
  batch.max_wait = 1min;
  const auto plan = BatchWindow{batch, 200ms}.plan();
  CHECK(plan.max_postponed > 1'000'000);
  CHECK(plan.max_postponed_time == 1min);
}

}  // namespace inboxd::dispatcher
