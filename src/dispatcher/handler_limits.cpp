// Claimer for limits that hold for all instances: it asks the database for tokens and parallel calls.
#include "dispatcher/claimer.hpp"

namespace inboxd::dispatcher {

bool Claimer::take_tokens(ClaimingHandler& handler) {
  const auto asked = Clock::now();
  const auto ask = handler.tokens_to_take(asked);
  if (!ask) return true;
  const auto answer = deliveries_->take_tokens(handler.handler_id(), ask->per_second, ask->events);
  if (!worked(answer)) return false;
  handler.tokens_taken(std::get<0>(answer), asked);
  return true;
}

bool Claimer::share_calls(ClaimingHandler& handler) {
  const auto asked = Clock::now();
  const auto ask = handler.calls_to_share(asked);
  if (!ask) return true;
  const auto answer = deliveries_->share_calls(handler.handler_id(), *ask);
  if (!worked(answer)) return false;
  handler.calls_shared(std::get<0>(answer), asked);
  return true;
}

/// At the end. What is not released ends with its lease.
bool Claimer::release_calls(ClaimingHandler& handler) {
  const auto ask = handler.calls_to_release();
  return !ask || worked(deliveries_->share_calls(handler.handler_id(), *ask));
}

}  // namespace inboxd::dispatcher
