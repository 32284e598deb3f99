#include "relay/stream.hpp"

#include <cassert>
#include <utility>

namespace inboxd::relay {
namespace {

using namespace std::chrono_literals;

constexpr auto check_interval = 1s;
constexpr auto answer_timeout = 300ms;

}  // namespace

void Stream::change(State to) {
  if (to == state_) return;
  assert(to != State::sending && state_ != State::resized);
  log_.debug("daemon.state_changed",
             {{"part", "relay stream"}, {"state", to == State::failed ? "failed" : "resized"}});
  state_ = to;
}

std::optional<Stream::Clock::time_point> Stream::find_stalled(Clock::time_point now, Clock::time_point oldest,
                                                              std::chrono::milliseconds stalled_after) {
  next_check_ = now + check_interval;
  if (std::exchange(has_news_, false)) last_news_ = now;
  const bool waits = now - oldest >= check_interval * 2;
  const bool is_answered = waits && producer->is_answered(answer_timeout);
  if (waits && !is_answered) next_check_ = now + check_interval * 5;  // unanswered questions keep others waiting
  if (!is_answered) answered_since_.reset();
  if (is_answered && !answered_since_) answered_since_ = now;
  if (!answered_since_ || now - *answered_since_ < stalled_after) return std::nullopt;
  const auto sent_before = (now - last_news_ >= stalled_after ? now : newest_acknowledged_) - stalled_after;
  if (oldest > sent_before) return std::nullopt;
  answered_since_.reset();
  return sent_before;
}

}  // namespace inboxd::relay
