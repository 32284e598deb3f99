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

Turn turn(Turn::State state, event::Microseconds now, event::Microseconds decided_until) {
  return {state, now, decided_until, 0, 7};
}

}  // namespace

TEST_CASE("a new owner asks at once, then at the next close by the database's clock") {
  BatchWindow window = every_ten_seconds();
  CHECK(window.next_turn() <= start);
  CHECK_FALSE(window.plan().latest);
  window.turned(turn(Turn::State::open, 29 * second + 950'000, 20 * second), start);
  CHECK_FALSE(window.plan().latest);
  CHECK(window.plan().next == 30 * second);
  CHECK(window.plan().at_least == 5);
  CHECK(window.next_turn() == start + 50ms);
}

TEST_CASE("far from a close the database is asked again soon, because an operator may close the window") {
  BatchWindow window = every_ten_seconds();
  window.turned(turn(Turn::State::open, 21 * second, 20 * second), start);
  CHECK(window.next_turn() == start + 200ms);
}

TEST_CASE("a close that has come, or was missed, is named in the next question") {
  BatchWindow window = every_ten_seconds();
  window.turned(turn(Turn::State::open, 95 * second, 20 * second), start);
  CHECK(window.next_turn() == start);
  CHECK(window.plan().latest == 90 * second);
  window.turned(turn(Turn::State::postponed, 95 * second, 90 * second), start);
  CHECK_FALSE(window.plan().latest);
  CHECK_FALSE(window.is_running());
}

TEST_CASE("a closed window is read until it has ended, then the database is asked again") {
  BatchWindow window = every_ten_seconds();
  window.turned(turn(Turn::State::closed, 30 * second, 30 * second), start);
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
  window.turned(turn(Turn::State::running, 30 * second, 30 * second), start);
  CHECK(window.is_running());
  CHECK(window.events() == 7);  // also after a restart in the middle of the window
  window.turned(turn(Turn::State::lost, 0, 0), start + 1s);
  CHECK_FALSE(window.is_running());
  CHECK(window.next_turn() <= start);
}

TEST_CASE("without max_wait ten closes are postponed, with it those of that time") {
  CHECK(every_ten_seconds().plan().most_postponed == 10);
  config::Batch batch;
  batch.every = 10s;
  batch.max_wait = 1min;
  const auto plan = BatchWindow{batch, 200ms}.plan();
  CHECK(plan.most_postponed > 1'000'000);
  CHECK(plan.longest_postponed == 1min);
}

}  // namespace inboxd::dispatcher
