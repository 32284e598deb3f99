#include "queue/admission.hpp"

#include <algorithm>

namespace inboxd::dispatcher {

void Admission::configure(const config::Handler& settings) {
  hold_.configure(settings.fuse_failures);
  tokens_.configure(config::rate_per_second(settings));
  share_.configure(settings.max_in_flight);
  change();
}

Admission::State Admission::state_of() const {
  if (closed_ != 0) return State::closed;
  if (hold_.state() == Hold::State::held) return State::held;
  if (hold_.state() == Hold::State::trial && hold_.is_tried()) return State::trial;
  if (away_until_) return State::away;
  return is_limited() ? State::limited : State::open;
}

void Admission::change() { state_ = state_of(); }

Admission::Effect Admission::close(Closed reason) {
  closed_ |= static_cast<unsigned>(reason);
  change();
  return Effect::closed;
}

Admission::Effect Admission::reopen(Closed reason) {
  closed_ &= ~static_cast<unsigned>(reason);
  change();
  return Effect::opened;
}

Admission::Effect Admission::after_hold(Hold::State before) {
  const bool was_trial = state_ == State::trial;
  change();
  if (hold_.state() == before) return was_trial && state_ != State::trial ? Effect::work : Effect::none;
  return hold_.state() == Hold::State::held ? Effect::closed : Effect::opened;
}

// ---- workers

Admission::May Admission::may_take(Clock::time_point now) {
  if (state_ != State::open && state_ != State::limited) return {};
  if (!tokens_.is_on() && !share_.is_on()) return {true, false};
  const bool has_tokens = tokens_.allowed(now) > 0;
  const bool has_call = share_.may_begin(now);
  if (has_tokens && has_call) return {true, false};
  const bool asks = (!has_tokens && tokens_.note_waiting()) || (!has_call && share_.note_waiting());
  change();
  return {false, asks};
}

void Admission::take(std::int64_t events) {
  if (hold_.state() == Hold::State::trial) hold_.take_trial();
  share_.begin();
  tokens_.spend(events);
  change();
}

void Admission::give_back(std::int64_t events, bool all) {
  tokens_.give_back(events);
  if (all) lose_trial();
}

void Admission::lose_trial() {
  hold_.put_back();
  change();
}

// ---- its service

Admission::Effect Admission::go_away(Clock::time_point now, std::chrono::milliseconds delay, const std::string& error) {
  away_until_ = std::max(away_until_.value_or(Clock::time_point{}), now + delay);
  change();
  if (delay.count() == 0) return Effect::none;
  if (!away_since_) away_since_ = now;
  away_error_ = error;
  return Effect::none;
}

Admission::Effect Admission::review(Clock::time_point now, bool any_events) {
  if (!away_until_ && !any_events) is_back();
  if (!away_until_ || now < *away_until_) return Effect::none;
  away_until_.reset();
  change();
  return Effect::work;
}

// ---- questions

std::optional<Request> Admission::write_hold(std::int32_t handler_id) const {
  if (!hold_.news()) return std::nullopt;
  return WriteHold{handler_id, *hold_.news()};
}

std::optional<Request> Admission::take_tokens(std::int32_t handler_id, Clock::time_point now) {
  if (!takes() || !tokens_.is_on() || now < tokens_.next_ask()) return std::nullopt;
  return TakeTokens{handler_id, tokens_.per_second(), tokens_.ask(now)};
}

std::optional<Request> Admission::share_calls(std::int32_t handler_id, int idle, Clock::time_point now) {
  if (now < share_.next_ask()) return std::nullopt;
  return ShareCalls{handler_id, share_.ask(takes() ? idle : 0, now)};
}

std::optional<Request> Admission::release_calls(std::int32_t handler_id) {
  const auto calls = share_.release();
  if (!calls) return std::nullopt;
  return ShareCalls{handler_id, *calls};
}

Admission::Clock::time_point Admission::next_limits() const {
  // Calls still run in a handler that takes nothing: their share stays leased.
  return std::min(takes() ? tokens_.next_ask() : Clock::time_point::max(), share_.next_ask());
}

Admission::Effect Admission::answered(const WriteHold& question, std::monostate /*result*/, const Visit& /*visit*/) {
  hold_.written(question.news);
  return Effect::none;
}

Admission::Effect Admission::answered(const TakeTokens& /*question*/, const inbox::Tokens& tokens,
                                      const Visit& visit) {
  tokens_.granted(tokens, visit.asked);
  change();
  return Effect::work;
}

Admission::Effect Admission::answered(const ShareCalls& /*question*/, int calls, const Visit& visit) {
  share_.granted(calls, visit.asked);
  change();
  return Effect::work;
}

}  // namespace inboxd::dispatcher
