#include "queue/batch_window.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace inboxd::dispatcher {
namespace {

/// Without batch.max_wait: closes postponed in a row.
constexpr int max_postponed = 10;

config::Schedule::Time time_of(event::Microseconds time) {
  return config::Schedule::Time{std::chrono::microseconds{time}};
}

event::Microseconds microseconds_of(config::Schedule::Time time) { return time.time_since_epoch().count(); }

}  // namespace

BatchWindow::BatchWindow(const config::Batch& batch, std::chrono::milliseconds poll)
    : batch_{batch}, schedule_{batch}, poll_{poll} {}

void BatchWindow::change(State to) {
  assert(to != State::running || state_ != State::running);
  state_ = to;
  is_read_ = false;
}

BatchWindow::Clock::time_point BatchWindow::next_turn() const {
  return state_ == State::running ? Clock::time_point::max() : next_turn_;
}

inbox::WindowPlan BatchWindow::plan() const {
  inbox::WindowPlan out;
  out.latest = latest_;
  out.next = next_;
  out.at_least = batch_.at_least;
  const bool is_timed = batch_.max_wait.count() > 0;
  out.max_postponed = is_timed ? std::numeric_limits<std::int32_t>::max() : max_postponed;
  out.max_postponed_time = is_timed ? batch_.max_wait : std::chrono::milliseconds{std::chrono::years{10}};
  return out;
}

void BatchWindow::turned(const inbox::WindowTurn& turn, Clock::time_point asked) {
  using Turn = inbox::WindowTurn::State;
  latest_.reset();
  if (turn.state == Turn::lost) return forget();
  if (turn.state == Turn::closed || turn.state == Turn::running) {
    events_ = turn.events;
    began_ = asked;
    return change(State::running);
  }
  if (state_ != State::open) change(State::open);
  const auto now = time_of(turn.now);
  const auto next = schedule_.next(now);
  if (next != config::Schedule::Time::max()) next_ = microseconds_of(next);
  if (const auto latest = schedule_.latest(time_of(turn.decided_until), now)) {
    latest_ = microseconds_of(*latest);
    next_turn_ = asked;
  } else {
    next_turn_ = asked + std::min<std::chrono::microseconds>(next - now, poll_);
  }
}

void BatchWindow::forget() {
  change(State::unknown);
  latest_.reset();
  next_turn_ = {};
}

void BatchWindow::read(inbox::SequenceRead::State state) {
  using Read = inbox::SequenceRead::State;
  if (state_ != State::running) return;
  is_read_ = state == Read::end || state == Read::waits;
  if (state != Read::ended) return;
  change(State::open);
  next_turn_ = {};
}

}  // namespace inboxd::dispatcher
