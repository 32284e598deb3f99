// Claimer for limits that hold for all instances: it asks the database for tokens and parallel calls.
#include "dispatcher/claimer.hpp"

namespace inboxd::dispatcher {

bool Claimer::take_tokens(ClaimingHandler& handler) {
  const auto asked = Clock::now();
  const auto wanted = handler.tokens_to_take(asked);
  if (!wanted) return true;
  const auto answer = ask(TakeTokens{handler.handler_id(), wanted->per_second, wanted->events});
  if (!worked(answer)) return false;
  handler.tokens_taken(std::get<0>(answer), asked);
  return true;
}

bool Claimer::share_calls(ClaimingHandler& handler) {
  const auto asked = Clock::now();
  const auto calls = handler.calls_to_share(asked);
  if (!calls) return true;
  const auto answer = ask(ShareCalls{handler.handler_id(), *calls});
  if (!worked(answer)) return false;
  handler.calls_shared(std::get<0>(answer), asked);
  return true;
}

/// At the end. What is not released ends with its lease.
bool Claimer::release_calls(ClaimingHandler& handler) {
  const auto calls = handler.calls_to_release();
  return !calls || worked(ask(ShareCalls{handler.handler_id(), *calls}));
}

}  // namespace inboxd::dispatcher
