// Claimer for handlers that keep order: it takes, renews and releases their sequences, reads their lanes and claims
// from them.
#include <algorithm>
#include <chrono>
#include <utility>

#include "dispatcher/claimer.hpp"

namespace inboxd::dispatcher {
namespace {

/// Sequences are renewed this often during their lease.
constexpr int renewals_in_a_lease = 6;
/// Between two tries to take sequences.
constexpr std::chrono::milliseconds take_every{200};
/// Between two looks whether they are still owned: events in memory run on behind a replay for so long.
constexpr std::chrono::milliseconds look_every{500};

}  // namespace

/// Beside the leases of deliveries: renewals before releases, a late renewal loses the sequence.
bool Claimer::maintain_sequences(ClaimingHandler& handler, HandlerState& state) {
  OrderedHandler* const ordered = handler.ordered();
  if (ordered == nullptr) return true;
  if (!stopping_ && !renew_sequences(*ordered, handler, state)) return false;
  if (Clock::now() >= state.next_look && !find_lost_sequences(*ordered, handler, state)) return false;
  // take_drained leaves out sequences with leases that are not released yet.
  if (state.to_release.empty()) {
    for (const inbox::SequenceKey& key : ordered->take_drained()) state.drained.push_back(key);
  }
  if (state.drained.empty()) return true;
  // Repeating it after a failure is harmless: a fence works once.
  if (!worked(ask(ReleaseSequences{handler.handler_id(), state.drained}))) return false;
  state.drained.clear();
  return true;
}

bool Claimer::renew_sequences(OrderedHandler& ordered, ClaimingHandler& handler, HandlerState& state) {
  const auto asked = Clock::now();
  const auto lease = handler.lease().length;
  if (asked < state.last_sequence_renewal + lease / renewals_in_a_lease) return true;
  const auto owned = ordered.owned_sequences();
  state.last_sequence_renewal = asked;
  if (owned.empty()) return true;
  const auto answer = ask(RenewSequences{handler.handler_id(), owned, lease});
  if (!worked(answer)) {
    state.last_sequence_renewal = {};
    return false;
  }
  ordered.sequences_renewed(owned, std::get<0>(answer), asked + lease);
  return true;
}

bool Claimer::find_lost_sequences(OrderedHandler& ordered, ClaimingHandler& handler, HandlerState& state) {
  state.next_look = Clock::now() + look_every;
  const auto owned = ordered.owned_sequences();
  if (owned.empty()) return true;
  const auto answer = ask(FindLostSequences{handler.handler_id(), owned});
  if (!worked(answer)) return false;
  ordered.sequences_lost(std::get<0>(answer));
  return true;
}

bool Claimer::take_sequences(OrderedHandler& ordered, ClaimingHandler& handler, HandlerState& state) {
  const auto asked = Clock::now();
  if (asked < state.next_take || !state.drained.empty()) return true;
  state.next_take = asked + take_every;
  const auto to_take = ordered.sequences_to_take(asked);
  if (to_take.wanted.empty() && !to_take.orphans) return true;
  const auto lease = handler.lease().length;
  const std::int64_t fence = base::random_fence();
  const auto answer =
      ask(TakeSequences{handler.handler_id(), fence, lease, to_take.wanted, to_take.orphans, to_take.order});
  if (!worked(answer)) return false;
  const auto& taken = std::get<0>(answer);
  if (taken.empty()) return true;
  log_.debug("dispatcher.sequences_taken", {{"handler", handler.handler()}, {"sequences", taken.size()}});
  ordered.sequences_taken(taken, fence, asked + lease);
  return true;
}

bool Claimer::read_lanes(OrderedHandler& ordered, ClaimingHandler& handler) {
  while (const auto next = ordered.lanes_to_read()) {
    const auto answer =
        ask(ReadLanes{handler.handler_id(), next->sequence, next->after, limits_.lanes_at_once});
    if (!worked(answer)) return false;
    const auto& lanes = std::get<0>(answer);
    ordered.lanes_read(next->sequence, lanes, lanes.size() < static_cast<std::size_t>(limits_.lanes_at_once));
  }
  return true;
}

bool Claimer::check_lanes(OrderedHandler& ordered, ClaimingHandler& handler) {
  const auto lanes = ordered.lanes_to_check(static_cast<std::size_t>(limits_.checked_lanes));
  if (lanes.empty()) return true;
  const auto answer = ask(CheckLanes{handler.handler_id(), lanes, ordered.owned_sequences()});
  if (!worked(answer)) return false;
  ordered.sequences_lost(std::get<0>(answer).lost);
  ordered.lanes_checked(std::get<0>(answer).lanes);
  return true;
}

/// Asks whether the window of a batch handler closes, and again with the latest close if the answer shows that one
/// came.
bool Claimer::turn_window(OrderedHandler& ordered, ClaimingHandler& handler) {
  using State = inbox::WindowTurn::State;
  for (int question = 0; question < 2; ++question) {
    const auto asked = Clock::now();
    const auto plan = ordered.window_to_turn(asked);
    if (!plan) return true;
    const auto answer = ask(TurnWindow{handler.handler_id(), *plan});
    if (!worked(answer)) return false;
    const inbox::WindowTurn& turn = std::get<0>(answer);
    ordered.window_turned(turn, asked);
    const base::Logger::Facts facts{{"handler", handler.handler()}, {"events", turn.events}};
    if (turn.state == State::closed) log_.info("dispatcher.window_closed", facts);
    if (turn.state == State::postponed) log_.info("dispatcher.window_postponed", facts);
  }
  return true;
}

/// A batch handler's call that has crashed the process at each of its chances.
void Claimer::report_halved(const ClaimingHandler& handler, std::int32_t max_crashes,
                            const std::vector<inbox::LeasedRun>& runs) {
  if (runs.empty() || runs.front().claims <= max_crashes) return;
  std::size_t events = 0;
  for (const inbox::LeasedRun& run : runs) events += run.events.size();
  log_.warn("dispatcher.call_halved", {{"handler", handler.handler()},
                                       {"events", events},
                                       {"crashes", runs.front().claims - 1},
                                       {"max_crashes", max_crashes}});
}

bool Claimer::claim_in_order(ClaimingHandler& handler, HandlerState& state) {
  OrderedHandler* const ordered = handler.ordered();
  if (ordered == nullptr) return true;
  if (!take_sequences(*ordered, handler, state) || !read_lanes(*ordered, handler) ||
      !check_lanes(*ordered, handler) || !turn_window(*ordered, handler)) {
    return false;
  }
  // Rows that are leased and not in memory: the events after them must not be claimed first.
  if (!state.to_release.empty() && !release_leases(handler, state)) return false;
  if (!release_claims(handler, state)) return false;
  const auto asked = Clock::now();
  auto claim = ordered->begin_claim_in_order(asked);
  if (!claim) return true;
  inbox::ClaimRequest& request = claim->request.claim;
  request.rows = claim->request.window ? limits_.rows_of_window : limits_.rows_in_order;
  request.not_before = state.low_water.not_before();
  request.fence = base::random_fence();
  suspects_.limit_claim(request, claim->max_crashes, asked);
  auto answer = ask(*claim);
  if (!worked(answer)) {
    remember_claim(state, request.fence, asked);
    ordered->end_claim_in_order({}, asked);
    return false;
  }
  inbox::ClaimedInOrder& claimed = std::get<0>(answer);
  auto& all = claimed.claimed;
  state.to_skip.insert(state.to_skip.end(), all.empty.begin(), all.empty.end());
  state.to_release.insert(state.to_release.end(), all.excess.begin(), all.excess.end());
  const bool of_window = claim->request.window.has_value();
  for (const auto& key : suspects_.take_out(handler, claim->max_crashes, all.runs, list_handlers_)) {
    state.to_release.push_back(key);
    all.excess.push_back(key);
  }
  if (of_window) report_halved(handler, claim->max_crashes, all.runs);
  ordered->end_claim_in_order(std::move(claimed), asked);
  if (const auto end = ordered->take_window_end()) {
    log_.info("dispatcher.window_ended", {{"handler", handler.handler()},
                                          {"events", end->events},
                                          {"seconds", std::chrono::duration<double>(end->duration).count()}});
  }
  return skip(state) && release_leases(handler, state);
}

}  // namespace inboxd::dispatcher
