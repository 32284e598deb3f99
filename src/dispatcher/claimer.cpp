#include "dispatcher/claimer.hpp"

#include <pthread.h>

#include <algorithm>
#include <string>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// Leases are looked at this often during their time, and renewed once a third of it is used.
constexpr int looks_in_a_lease = 8;
/// A claim that returned this part of its bytes was cut short by them.
constexpr std::size_t byte_bound_part = 2;

std::vector<inbox::LeaseKey> keys_of(const std::vector<std::shared_ptr<settler::Run>>& runs) {
  std::vector<inbox::LeaseKey> keys;
  keys.reserve(runs.size());
  for (const auto& run : runs) keys.push_back(run->lease.key);
  return keys;
}

struct Size {
  std::int64_t events = 0;
  std::size_t bytes = 0;
  bool found_crashed = false;  ///< the claim splits such deliveries: the rest is still due
};

Size size_of(const std::vector<inbox::LeasedRun>& runs) {
  Size out;
  for (const auto& run : runs) {
    out.events += static_cast<std::int64_t>(run.events.size());
    for (const event::Event* event : run.events) out.bytes += event::size_of(*event);
    out.found_crashed = out.found_crashed || run.claims > 1;
  }
  return out;
}

}  // namespace

Claimer::Claimer(AskDatabase ask_database, std::shared_ptr<ClaimerSignals> signals,
                 ListHandlers list_handlers, settler::Settler& settler, base::Logger& log, Limits limits)
    : ask_database_{std::move(ask_database)},
      signals_{std::move(signals)},
      list_handlers_{std::move(list_handlers)},
      log_{log},
      limits_{limits},
      backoff_{settler::DatabaseBackoff::Part::dispatcher, log, limits.backoff},
      holds_{{settler::DatabaseBackoff::Part::dispatcher, log, limits.backoff, "pauses of handlers"}, {}},
      suspects_{signals_, settler, log, limits.suspects} {}

Claimer::~Claimer() {
  request_stop();
  join();
}

void Claimer::start() {
  heartbeat_.beat();
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), "claimer");
}

void Claimer::request_stop() {
  stopping_ = true;
  signals_->wake.notify();
}

void Claimer::join() {
  if (thread_.joinable()) thread_.join();
}

// ---- the loop

void Claimer::run() {
  while (!stopping_) {
    heartbeat_.beat();
    if (Clock::now() >= blocked_until_) serve(list_handlers_());
    signals_->wake.wait_until(next_turn(Clock::now()));
  }
  for (const auto& handler : list_handlers_()) {
    // If one handler's release is refused, another's may work.
    HandlerState& state = state_of(*handler);
    const bool released =
        release_leases(*handler, state) && release_claims(*handler, state) && maintain_sequences(*handler, state) &&
        release_calls(*handler);
    if (!released && is_blocked()) return;
  }
}

void Claimer::serve(ClaimingHandlers handlers) {
  maintain_all_leases(handlers);
  maintain_holds(handlers);
  maintain_limits(handlers);
  suspects_.begin_round();
  if (suspects_.isolation().is_on()) serve_isolated(handlers);
  if (suspects_.isolation().is_on()) return;
  suspects_.take_turns(handlers);
  for (const auto& handler : handlers) {
    // The claims of many handlers may take long: leases are renewed in time, also between two claims.
    if (!is_blocked() && Clock::now() >= next_renewals_) maintain_all_leases(handlers);
    if (is_blocked() || stopping_ || suspects_.isolation().is_on()) return;
    HandlerState& state = state_of(*handler);
    limit_statements(handlers);
    attempt(state.claims, [&] {
      return read_low_water(*handler, state) && claim_in_order(*handler, state) && claim(*handler, state);
    });
  }
}

void Claimer::serve_isolated(const ClaimingHandlers& handlers) {
  if (is_blocked()) return;
  if (const auto handler = suspects_.isolation().turn(handlers, Clock::now())) {
    HandlerState& state = state_of(*handler);
    state.next_take = {};  // its sequences were released with all others
    limit_statements(handlers);
    attempt(state.claims, [&] { return claim_in_order(*handler, state) && claim(*handler, state); });
  }
  suspects_.isolation().review(handlers, suspects_.any_in_flight(), Clock::now());
}

Claimer::Clock::time_point Claimer::next_turn(Clock::time_point now) {
  auto turn = std::min(now + limits_.turn, suspects_.isolation().next_look(now));
  if (now < blocked_until_) return std::min(turn, blocked_until_);
  turn = std::min(turn, std::max(next_holds_, holds_.not_before));
  for (const auto& handler : list_handlers_()) {
    const HandlerState& state = state_of(*handler);
    if (!suspects_.isolation().is_on()) {
      turn = std::min(turn, std::max(handler->next_claim(now), state.claims.not_before));
    }
    turn = std::min(turn, std::max(next_renewal(*handler, state), state.leases.not_before));
    turn = std::min(turn, std::max(handler->next_limits(), state.limits.not_before));
  }
  return turn;
}

Claimer::HandlerState& Claimer::state_of(const ClaimingHandler& handler) {
  const auto found = states_.find(handler.handler_id());
  if (found != states_.end()) return found->second;
  const std::string about = "handler " + handler.handler();
  const settler::DatabaseBackoff lease_backoff{settler::DatabaseBackoff::Part::dispatcher, log_, limits_.backoff,
                                               about + ", its leases"};
  const settler::DatabaseBackoff claim_backoff{settler::DatabaseBackoff::Part::dispatcher, log_, limits_.backoff,
                                               about + ", its claims"};
  const settler::DatabaseBackoff limit_backoff{settler::DatabaseBackoff::Part::dispatcher, log_, limits_.backoff,
                                               about + ", its limits"};
  return states_
      .emplace(handler.handler_id(), HandlerState{.leases = {lease_backoff, {}},
                                                  .claims = {claim_backoff, {}},
                                                  .limits = {limit_backoff, {}}})
      .first->second;
}

/// Works for one handler, unless that failed a moment ago. A failure of this handler alone (rights on a table that its
/// claims read, locked rows) does not stop the others.
template <class Work>
void Claimer::attempt(Retry& retry, Work&& work) {
  const auto now = Clock::now();
  if (now < retry.not_before) return;
  refused_.reset();
  if (work()) {
    retry.backoff.worked();
  } else if (refused_) {
    retry.not_before = Clock::now() + retry.backoff.failed(*refused_, Clock::now());
  }
}

void Claimer::maintain_holds(const ClaimingHandlers& handlers) {
  if (is_blocked()) return;
  attempt(holds_, [&] {
    const bool all_written = write_hold_news(handlers);
    return !is_blocked() && read_holds(handlers) && all_written;
  });
}

void Claimer::maintain_limits(const ClaimingHandlers& handlers) {
  for (const auto& handler : handlers) {
    if (is_blocked()) return;
    if (Clock::now() < handler->next_limits()) continue;
    attempt(state_of(*handler).limits, [&] { return take_tokens(*handler) && share_calls(*handler); });
  }
}

/// If nothing is in flight, a wait loses nothing.
void Claimer::limit_statements(const ClaimingHandlers& handlers) {
  std::optional<std::chrono::milliseconds> limit;
  for (const auto& handler : handlers) {
    const auto lease = handler->lease();
    if (lease.is_at_stake && (!limit || lease.length / 2 < *limit)) limit = lease.length / 2;
  }
  visit_limit_ = {};
  if (!limit) return;
  visit_limit_.longest = std::max(*limit, limits_.shortest_deadline);
  visit_limit_.end = Clock::now() + *visit_limit_.longest;
}

/// Notes the result of a statement; false if it failed. A failure of the connection blocks all handlers.
bool Claimer::worked(const inbox::DatabaseFailure* failure) {
  heartbeat_.beat();
  if (failure != nullptr) {
    const bool is_connection = failure->fault == inbox::Fault::reconnect || failure->fault == inbox::Fault::in_doubt;
    if (is_connection) blocked_until_ = Clock::now() + backoff_.failed(*failure, Clock::now());
    if (!is_connection) refused_ = *failure;
    return false;
  }
  backoff_.worked();
  return true;
}

// ---- leases

void Claimer::maintain_all_leases(const ClaimingHandlers& handlers) {
  next_renewals_ = Clock::now() + limits_.turn;
  limit_statements(handlers);
  for (const auto& handler : handlers) {
    if (is_blocked()) return;
    HandlerState& state = state_of(*handler);
    attempt(state.leases, [&] { return maintain_leases(*handler, state); });
    next_renewals_ = std::min(next_renewals_, next_renewal(*handler, state));
  }
}

bool Claimer::maintain_leases(ClaimingHandler& handler, HandlerState& state) {
  // Renewals first: a late release is only late, a late renewal loses the lease.
  const bool renewed = renew(handler, state);
  return !is_blocked() && release_leases(handler, state) && release_claims(handler, state) && skip(state) &&
         maintain_sequences(handler, state) && renewed;
}

/// By the lease as configured now: a reload may have shortened it.
Claimer::Clock::time_point Claimer::next_renewal(const ClaimingHandler& handler, const HandlerState& state) {
  return state.last_renewal + handler.lease().length / looks_in_a_lease;
}

bool Claimer::renew(ClaimingHandler& handler, HandlerState& state) {
  const auto now = Clock::now();
  if (now < next_renewal(handler, state)) return true;
  const auto due = handler.to_renew(now);
  for (std::size_t at = 0; at < due.runs.size(); at += limits_.keys_at_once) {
    const std::size_t end = std::min(due.runs.size(), at + limits_.keys_at_once);
    const auto begin = due.runs.begin();
    if (!renew(handler, {begin + static_cast<std::ptrdiff_t>(at), begin + static_cast<std::ptrdiff_t>(end)},
               due.lease)) {
      return false;
    }
  }
  state.last_renewal = now;
  return true;
}

/// Renews runs. If some were not renewed (settled meanwhile, locked or lost), it finds them by halving.
bool Claimer::renew(ClaimingHandler& handler, const std::vector<std::shared_ptr<settler::Run>>& runs,
                    std::chrono::milliseconds lease) {
  const auto asked = Clock::now();
  const auto answer = ask(RenewLeases{keys_of(runs), lease});
  if (!worked(answer)) return false;
  const auto renewed = static_cast<std::size_t>(std::get<0>(answer));
  if (renewed == runs.size()) handler.renewed(runs, asked + lease);
  if (renewed == runs.size() || renewed == 0) return true;
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  return renew(handler, {runs.begin(), middle}, lease) && renew(handler, {middle, runs.end()}, lease);
}

bool Claimer::release_leases(ClaimingHandler& handler, HandlerState& state) {
  for (const auto& key : handler.take_released()) state.to_release.push_back(key);
  while (!state.to_release.empty()) {
    const std::size_t count = std::min(state.to_release.size(), limits_.keys_at_once);
    const auto begin = state.to_release.end() - static_cast<std::ptrdiff_t>(count);
    // Repeating it after a failure is harmless: a key works once.
    if (!worked(ask(ReleaseLeases{{begin, state.to_release.end()}}))) return false;
    state.to_release.erase(begin, state.to_release.end());
  }
  return true;
}

/// A claim without an answer may have leased deliveries. They were never in flight, so they must neither wait for
/// the end of the lease nor count as crashed.
bool Claimer::release_claims(ClaimingHandler& handler, HandlerState& state) {
  if (state.lost_claims.empty()) return true;
  const auto since =
      std::chrono::ceil<std::chrono::milliseconds>(Clock::now() - state.first_lost + limits_.clocks_apart);
  if (!worked(ask(ReleaseClaims{handler.handler_id(), state.lost_claims, since}))) return false;
  state.lost_claims.clear();
  return true;
}

bool Claimer::skip(HandlerState& state) {
  if (state.to_skip.empty()) return true;
  if (!worked(ask(SettleSkipped{state.to_skip}))) return false;
  log_.warn("dispatcher.events_gone", {{"deliveries", state.to_skip.size()}});
  state.to_skip.clear();
  return true;
}

// ---- claims

bool Claimer::read_low_water(ClaimingHandler& handler, HandlerState& state) {
  const auto asked = Clock::now();
  if (asked < state.next_reading || !handler.is_open()) return true;
  const auto answer = ask(ReadDue{handler.handler_id(), state.low_water.reading_from(asked),
                                  state.low_water.asks_writers(asked)});
  if (!worked(answer)) return false;
  const auto came = Clock::now();
  state.low_water.observe(std::get<0>(answer), asked, came);
  signals_->clock.observe(std::get<0>(answer).now, asked, came);
  const bool begins = !state.low_water.not_before();
  state.next_reading = asked + (handler.was_active() || begins ? limits_.reading : limits_.idle_reading);
  return true;
}

bool Claimer::claim(ClaimingHandler& handler, HandlerState& state) {
  const auto asked = Clock::now();
  auto claim = handler.begin_claim(asked);
  if (!claim) return true;
  complete(*claim, state, asked);
  const inbox::ClaimRequest& request = claim->request;
  auto answer = ask(*claim);
  if (!worked(answer)) {
    note_lost_claim(state, request.fence, asked);
    handler.claim_failed();
    return false;
  }
  auto& claimed = std::get<0>(answer);
  state.to_skip.insert(state.to_skip.end(), claimed.empty.begin(), claimed.empty.end());
  state.to_release.insert(state.to_release.end(), claimed.excess.begin(), claimed.excess.end());
  const Size size = size_of(claimed.runs);
  const bool events_reached = size.events >= request.events;
  const bool more = events_reached || claimed.rows_locked >= request.rows || size.found_crashed ||
                    size.bytes * byte_bound_part >= request.bytes;
  adapt_rows(state, request.rows, claimed.rows_locked, events_reached);
  for (const auto& key : suspects_.take_out(handler, claim->max_crashes, claimed.runs, list_handlers_)) {
    state.to_release.push_back(key);
  }
  handler.end_claim(std::move(claimed.runs), asked, more);
  return skip(state);
}

/// Adds the claimer's part to a handler's claim.
void Claimer::complete(Claim& claim, HandlerState& state, Clock::time_point now) {
  inbox::ClaimRequest& request = claim.request;
  state.rows = std::max(state.rows, limits_.rows_first);
  request.rows = static_cast<int>(std::min<std::int64_t>(state.rows, request.events));
  request.not_before = state.low_water.not_before();
  suspects_.limit_claim(request, claim.max_crashes, now);
  request.fence = base::random_fence();
}

void Claimer::note_lost_claim(HandlerState& state, std::int64_t fence, Clock::time_point asked) {
  if (is_blocked()) remember_claim(state, fence, asked);
}

void Claimer::remember_claim(HandlerState& state, std::int64_t fence, Clock::time_point asked) {
  if (state.lost_claims.size() >= limits_.lost_claims) return;
  if (state.lost_claims.empty()) state.first_lost = asked;
  state.lost_claims.push_back(fence);
}

void Claimer::adapt_rows(HandlerState& state, int asked, int locked, bool events_reached) {
  if (locked >= asked && !events_reached && asked == state.rows) {
    state.rows = std::min(state.rows * 2, limits_.rows_most);
  } else if (locked < state.rows / 4) {
    state.rows = std::max(state.rows / 2, limits_.rows_first);
  }
}

}  // namespace inboxd::dispatcher
