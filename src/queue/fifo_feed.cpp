#include "queue/fifo_feed.hpp"

#include <algorithm>

namespace inboxd::dispatcher {
namespace {

/// A queue longer than this times the target is released.
constexpr std::int64_t too_much = 2;

}  // namespace

bool FifoFeed::review(HandlerState& state, Clock::time_point /*now*/) {
  const std::int64_t wanted = target(state);
  if (state.queue.queued() <= too_much * wanted) return false;
  state.queue.release(wanted);
  return state.queue.released_runs() > 0;
}

std::int64_t FifoFeed::target(const HandlerState& state) const {
  const RateTokens& tokens = state.admission.tokens();
  const std::int64_t target = state.room.pace().target();
  return tokens.is_on() ? std::min(target, tokens.max_held()) : target;
}

std::int64_t FifoFeed::run_events(const HandlerState& state, std::int64_t events) const {
  const Settings& settings = state.settings;
  if (!settings.needs.sql) return 0;
  const RateTokens& tokens = state.admission.tokens();
  if (tokens.is_on()) return std::min(tokens.in_a_bite(), settings.transaction_events);
  const Pace& pace = state.room.pace();
  const std::int64_t transaction = std::min(pace.batch_size_in_transactions(events), settings.transaction_events);
  const std::int64_t even = (events + pace.workers() - 1) / pace.workers();
  const std::int64_t transactions = (even + transaction - 1) / transaction;
  return std::max<std::int64_t>(transactions, 1) * transaction;
}

FifoFeed::Clock::time_point FifoFeed::next_due(HandlerState& state, Free free, Clock::time_point now) const {
  if (state.due.has_backlog() && free.is_worth_a_claim) return now;
  state.wants_room = state.due.has_backlog();
  return state.due.next();
}

}  // namespace inboxd::dispatcher
