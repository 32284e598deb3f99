#include "queue/window_feed.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace inboxd::dispatcher {
namespace {

constexpr int max_rows = 5'000;  ///< of a claim: with group_by: key a row may have a single event

}  // namespace

// ---- events

std::vector<RunSlice> WindowFeed::take(HandlerState& state, Clock::time_point now) {
  std::vector<RunSlice> out;
  RunQueue& queue = state.queue;
  std::int64_t left = state.settings.events_per_call;
  // A claim in progress has reserved room.
  const bool is_full = !state.room.is_claiming() && state.room.free(queue, target(state), 0) < 1;
  bool is_complete = window_.is_read() || is_full || state.sequences.is_alone(inbox::whole_handler);
  std::optional<std::int64_t> group;
  while (left > 0) {
    auto slice = queue.next_slice(now, [](const settler::Run&) { return true; });
    if (!slice) break;
    const bool is_first = out.empty();
    const bool joins = is_first || (!slice->one_by_one && !out.front().one_by_one &&
                                    is_suspect(slice->run->lease) == is_suspect(out.front().run->lease) &&
                                    (!groups_by_key_ || slice->run->lease.group == group));
    if (!joins) {
      queue.push_front(std::move(*slice));
      is_complete = true;
      break;
    }
    group = slice->run->lease.group;
    RunSlice part = *slice;
    part.end = std::min(part.end, part.first + static_cast<std::size_t>(part.one_by_one ? 1 : left));
    part.begins_call = is_first;
    left -= part.size();
    slice->first = part.end;
    if (slice->first < slice->end) queue.push_front(std::move(*slice));
    out.push_back(std::move(part));
  }
  if (left > 0 && !is_complete) {
    for (auto slice = out.rbegin(); slice != out.rend(); ++slice) queue.push_front(std::move(*slice));
    return {};
  }
  for (const RunSlice& slice : out) queue.taken(*slice.run, slice.size());
  return out;
}

void WindowFeed::settled(HandlerState& state, const settler::Run& /*run*/, std::int64_t /*events*/,
                         Clock::time_point now) {
  if (state.queue.events() > 0) return;
  read_at(now);  // the window may be over
  state.wakes.claimer = true;
}

bool WindowFeed::review(HandlerState& state, Clock::time_point /*now*/) {
  if (state.queue.events() > 0) ++state.wakes.workers;
  return false;
}

// ---- questions

std::optional<Request> WindowFeed::check(HandlerState& state, Clock::time_point now) {
  if (!state.takes() || !state.sequences.may_run(inbox::whole_handler)) return std::nullopt;
  if (now < window_.next_turn()) return std::nullopt;
  inbox::WindowPlan out = window_.plan();
  out.fence = state.sequences.fence(inbox::whole_handler);
  return TurnWindow{state.handler_id, out};
}

void WindowFeed::answered(HandlerState& state, const TurnWindow& /*question*/, const inbox::WindowTurn& turn,
                          const Visit& visit) {
  if (!state.sequences.may_run(inbox::whole_handler)) return;  // the settings have changed meanwhile
  window_.turned(turn, visit.asked);
  if (turn.state == inbox::WindowTurn::State::lost) state.sequences.drain(inbox::whole_handler);
  if (window_.is_running()) read_at(visit.asked);
}

WindowFeed::Clock::time_point WindowFeed::next_due(HandlerState& state, Free free, Clock::time_point now) const {
  if (state.sequences.lanes_to_read()) return now;
  if (!state.sequences.may_run(inbox::whole_handler)) return now + state.poll;
  if (!window_.is_running()) return window_.next_turn();
  if (state.sequences.is_alone(inbox::whole_handler)) return now + state.poll;
  // The workers wait for a whole call: the claim must not wait for more room than that.
  const bool may_claim = free.is_worth_a_claim || state.queue.queued() < state.settings.events_per_call;
  if (may_claim) return next_read_;
  state.wants_room = true;
  return now + state.poll;
}

std::optional<Request> WindowFeed::claim(HandlerState& state, Free free, Clock::time_point now) {
  const bool may_read =
      state.sequences.may_run(inbox::whole_handler) && !state.sequences.is_alone(inbox::whole_handler);
  if (!window_.is_running() || !may_read || now < next_read_) return std::nullopt;
  if (free.events < 1) return std::nullopt;
  read_at(now + state.poll);
  const Settings& settings = state.settings;
  ClaimInOrder out;
  out.max_crashes = settings.max_crashes;
  out.request.claim = state.begin_claim(free.events);
  out.request.claim.rows = max_rows;
  out.request.window = inbox::WindowToRead{state.sequences.fence(inbox::whole_handler), groups_by_key_,
                                           settings.events_per_call, settings.max_crashes};
  return out;
}

std::optional<WindowEnd> WindowFeed::read(HandlerState& state, const std::vector<inbox::SequenceRead>& sequences,
                                          bool is_cut, bool has_claimed, Clock::time_point now) {
  using State = inbox::SequenceRead::State;
  std::optional<WindowEnd> out;
  bool more = is_cut;
  for (const inbox::SequenceRead& each : sequences) {
    if (each.state == State::ended && window_.is_running()) out = WindowEnd{window_.events(), now - window_.began()};
    window_.read(each.state);
    if (each.state == State::lost) state.sequences.drain(inbox::whole_handler);
    // Leased rows of the window that are not in memory: of a claim without an answer.
    const bool is_strange = each.state == State::end && !has_claimed && state.queue.events() == 0;
    state.sequences.read({inbox::whole_handler, is_strange ? State::leased : State::more});
    ++state.wakes.workers;
    more = more || each.state == State::more || each.state == State::ended;
  }
  if (more) read_at(now);
  return out;
}

}  // namespace inboxd::dispatcher
