#include "queue/claim_questions.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// Between two tries to take sequences.
constexpr std::chrono::milliseconds take_interval{200};
constexpr int lanes_limit = 10'000;  ///< of a reading

std::optional<Request> read_due(const HandlerState& state, std::chrono::steady_clock::time_point now) {
  if (!state.takes() || !state.readings.is_due(now)) return std::nullopt;
  const LowWater& mark = state.readings.mark();
  return ReadDue{state.handler_id, mark.reading_from(now), mark.asks_writers(now)};
}

std::optional<Request> read_lanes(const HandlerState& state) {
  const auto next = state.sequences.lanes_to_read();
  if (!next) return std::nullopt;
  return ReadLanes{state.handler_id, next->sequence, next->after, lanes_limit};
}

}  // namespace

std::optional<Request> ClaimQuestions::next(HandlerState& state, Feed& feed, Clock::time_point now) {
  return steps_.next([&] { return read_due(state, now); },                                       //
                     [&] { return take_sequences(state, now); },                                 //
                     [&] { return read_lanes(state); },                                          //
                     [&] { return feed.with([&](auto& of) { return of.check(state, now); }); },  //
                     [&] { return claim_in_order(state, feed, now); },                           //
                     [&] { return claim(state, feed, now); });
}

ClaimQuestions::Clock::time_point ClaimQuestions::next_due(HandlerState& state, const Feed& feed,
                                                           Clock::time_point now) {
  state.wants_room = false;
  if (!state.takes()) return Clock::time_point::max();
  const Free free = feed.free(state);
  if (free.events >= 1) return feed.with([&](const auto& of) { return of.next_due(state, free, now); });
  state.wants_room = true;
  return now + state.poll;
}

void ClaimQuestions::answered(HandlerState& state, Feed& /*feed*/, const ReadDue& /*question*/,
                              const inbox::DueReading& reading, const Visit& visit) {
  state.readings.observe(reading, visit.asked, visit.came);
}

// ---- sequences

std::optional<Request> ClaimQuestions::take_sequences(HandlerState& state, Clock::time_point now) {
  Sequences& sequences = state.sequences;
  if (!sequences.are_used() || !state.takes() || now < next_take_ || state.keeper.any_drained()) return std::nullopt;
  next_take_ = now + take_interval;
  const bool orphans = sequences.looks_for_orphans(now, state.room.handlers());
  TakeSequences out{state.handler_id,   0,       state.settings.lease,
                    sequences.wanted(), orphans, state.settings.order->text};
  if (out.wanted.empty() && !out.orphans) return std::nullopt;
  return out;
}

void ClaimQuestions::answered(HandlerState& state, Feed& feed, const TakeSequences& question,
                              const std::vector<std::int32_t>& taken, const Visit& visit) {
  if (taken.empty()) return;
  state.sequences.took(taken, question.fence, visit.asked + question.lease);
  feed.with([&](auto& of) { of.read_at(visit.came); });
}

/// All lanes are read before the first claim.
void ClaimQuestions::answered(HandlerState& state, Feed& feed, const ReadLanes& question,
                              const std::vector<inbox::Lane>& lanes, const Visit& /*visit*/) {
  for (const inbox::Lane& lane : lanes) feed.with([&](auto& of) { of.block(lane); });
  const bool is_complete = lanes.size() < static_cast<std::size_t>(question.limit);
  state.sequences.lanes_read(question.sequence,
                             lanes.empty() ? std::numeric_limits<std::int64_t>::max() : lanes.back().lane, is_complete);
  steps_.repeat();
}

// ---- claims

std::optional<Request> ClaimQuestions::claim_in_order(HandlerState& state, Feed& feed, Clock::time_point now) {
  if (!state.takes() || state.sequences.count() == 0 || !state.keeper.holds_only_memory()) return std::nullopt;
  const Free free = feed.free(state);
  return feed.with([&](auto& of) { return of.claim(state, free, now); });
}

std::optional<Request> ClaimQuestions::claim(HandlerState& state, const Feed& feed, Clock::time_point now) {
  if (!state.takes()) return std::nullopt;
  if (!feed.with([](const auto& of) { return of.claims_due(); })) {
    state.due.set_backlog(false);
    return std::nullopt;
  }
  const bool is_time = now >= state.due.next();
  const Free free = feed.free(state);
  if (free.events < 1 || !(is_time || (state.due.has_backlog() && free.is_worth_a_claim))) {
    return std::nullopt;
  }
  const std::int64_t events =
      state.due.begin(now, free.events, state.room.held(state.queue), state.room.pace().minimum());
  const std::int64_t slice = feed.with([&](const auto& of) { return of.run_events(state, events); });
  Claim out;
  out.max_crashes = state.settings.max_crashes;
  out.request = state.begin_claim(events);
  out.request.rows = state.due.rows(events);
  out.request.slice = static_cast<int>(std::min<std::int64_t>(slice, std::numeric_limits<int>::max()));
  return out;
}

}  // namespace inboxd::dispatcher
