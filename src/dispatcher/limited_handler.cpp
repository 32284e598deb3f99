// InFlight where `rate` or `max_in_flight` limit its handler over all instances, or its service is away.
#include <algorithm>

#include "dispatcher/in_flight.hpp"

namespace inboxd::dispatcher {

/// Under the lock. Whether a worker may take events now. If not, the claimer asks the database.
bool InFlight::may_begin() {
  if (away_until_) return false;
  if (!tokens_.is_on() && !share_.is_on()) return true;
  const auto now = Clock::now();
  const bool has_tokens = tokens_.allowed(now) > 0;
  const bool has_call = share_.may_begin(now);
  if (has_tokens && has_call) return true;
  const bool is_new = (!has_tokens && tokens_.note_waiting()) || (!has_call && share_.note_waiting());
  if (is_new) claimer_->wake.notify();
  return false;
}

/// Under the lock. Counts what a worker takes.
InFlight::Taken InFlight::begin(Taken taken) {
  keep_one(taken);
  if (taken.slices.empty()) return taken;
  share_.begin();
  std::int64_t events = 0;
  for (const RunSlice& slice : taken.slices) events += slice.size();
  tokens_.spend(events);
  return taken;
}

void InFlight::away(std::chrono::milliseconds delay, const std::string& error) {
  const std::lock_guard lock{mutex_};
  const auto now = Clock::now();
  away_until_ = std::max(away_until_.value_or(Clock::time_point{}), now + delay);
  // Without a delay the events only wait for an earlier one.
  if (delay.count() == 0) return;
  if (!away_since_) away_since_ = now;
  away_error_ = error;
}

/// Under the lock; the overseer comes at least five times a second.
void InFlight::look_whether_back() {
  if (!away_until_ && queue_.events() == 0) away_since_.reset();  // no call here would tell
  if (!away_until_ || Clock::now() < *away_until_) return;
  away_until_.reset();
  limits_have_changed();
}

void InFlight::left() {
  const std::lock_guard lock{mutex_};
  share_.end();
}

/// Under the lock. The events to have in flight: of a handler with a rate, few, so that other instances have some, too.
/// The calls of a window are not cut.
std::int64_t InFlight::target() const {
  return tokens_.is_on() && !window_ ? std::min(pace_.target(), tokens_.most_held()) : pace_.target();
}

// ---- the claimer

/// Under the lock.
InFlight::Clock::time_point InFlight::next_limits() const {
  // Calls still run in a handler that takes nothing: their share stays leased.
  return std::min(takes() ? tokens_.next_ask() : Clock::time_point::max(), share_.next_ask());
}

std::optional<Request> InFlight::take_tokens(Clock::time_point now) {
  if (!takes() || !tokens_.is_on() || now < tokens_.next_ask()) return std::nullopt;
  return TakeTokens{handler_id_, tokens_.per_second(), tokens_.ask(now)};
}

void InFlight::answered(const TakeTokens& /*question*/, const inbox::Tokens& tokens, const Visit& visit) {
  tokens_.granted(tokens, visit.asked);
  limits_have_changed();
}

std::optional<Request> InFlight::share_calls(Clock::time_point now) {
  if (now < share_.next_ask()) return std::nullopt;
  const int idle = takes() ? static_cast<int>(std::min<std::int64_t>(queue_.queued(), idle_workers_)) : 0;
  return ShareCalls{handler_id_, share_.ask(idle, now)};
}

void InFlight::answered(const ShareCalls& /*question*/, int calls, const Visit& visit) {
  share_.granted(calls, visit.asked);
  limits_have_changed();
}

std::optional<Request> InFlight::last_request() {
  const std::lock_guard lock{mutex_};
  const auto calls = share_.release();
  if (!calls) return std::nullopt;
  return ShareCalls{handler_id_, *calls};
}

void InFlight::limits_have_changed() {
  ++work_changes_;
  work_.notify_all();
}

}  // namespace inboxd::dispatcher
