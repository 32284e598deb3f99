#include "queue/key_feed.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// A handler that does fewer events than this in a transaction is slow: its workers share a sequence, each with other
/// keys. The workers of a fast handler take whole runs, each of another sequence, which keeps statements set-based.
constexpr std::int64_t slow_below = 64;
/// A sequence without progress for this long is shared: the worker that has it waits for a lock, say.
constexpr std::chrono::milliseconds shared_after{250};
/// Between two looks for keys that are slow: more than this time's work of theirs is in memory.
constexpr std::chrono::milliseconds slow_look_interval{1'000};
/// A slow key is blocked if it has more than 1 / large_part of the events in memory.
constexpr std::int64_t large_part = 8;
/// Between two comparisons of blocked keys with the database, in turn.
constexpr std::chrono::milliseconds check_interval{1'000};
constexpr std::size_t max_checked = 500;
constexpr int max_rows = 64;  ///< of each sequence in a claim

/// Few events fit into a transaction, so a single worker for each sequence would be too slow.
bool is_slow(const Pace& pace) { return pace.batch_size_in_transactions(slow_below * pace.workers()) < slow_below; }

void append(std::vector<RunSlice>& out, const Pick& pick, bool begins_call) {
  if (!out.empty() && !begins_call) {
    RunSlice& last = out.back();
    if (last.run == pick.run && last.end == pick.index && last.one_by_one == pick.one_by_one) {
      ++last.end;
      return;
    }
  }
  out.push_back({pick.run, pick.index, pick.index + 1, pick.one_by_one, begins_call});
}

}  // namespace

// ---- events

bool KeyFeed::may_take_from(const settler::Run& run, const HandlerState& state, Clock::time_point now) const {
  if (!run.lease.sequence || !state.settings.needs.sql || is_slow(state.room.pace())) return true;
  const auto at = busy_.find(*run.lease.sequence);
  return at == busy_.end() || at->second.events == 0 || now - at->second.progress > shared_after;
}

std::vector<settler::Report> KeyFeed::take_behind(RunQueue& queue) {
  auto out = keys_.take_behind();
  for (const settler::Report& report : out) {
    queue.taken(*report.run, 1);
    busy_[*report.run->lease.sequence].events += 1;
  }
  return out;
}

std::vector<RunSlice> KeyFeed::take(HandlerState& state, Clock::time_point now) {
  std::vector<RunSlice> out;
  RunQueue& queue = state.queue;
  const bool in_transactions = state.settings.needs.sql;
  const std::int64_t events_per_call = state.settings.events_per_call;
  std::int64_t left = state.batch_size(now);
  const auto in_a_call = static_cast<std::size_t>(in_transactions ? left : events_per_call);
  std::size_t in_call = 0;
  ++last_call_;
  const auto take = [&](const Pick& pick) {
    append(out, pick, in_call == 0 && !in_transactions && events_per_call > 1);
    --left;
    ++in_call;
    if (in_transactions || (in_call < in_a_call && !pick.one_by_one)) return;
    ++last_call_;
    in_call = 0;
  };
  while (left > 0 && keys_.any_ready()) {
    const std::size_t most = in_transactions ? in_a_call : in_a_call - in_call;
    for (const Pick& pick : keys_.take_ready(most, last_call_, in_transactions)) take(pick);
  }
  std::optional<std::int32_t> sequence;
  while (left > 0) {
    auto slice = queue.next_slice(now, [&](const settler::Run& run) {
      return (sequence && run.lease.sequence == sequence) || may_take_from(run, state, now);
    });
    if (!slice) break;
    sequence = slice->run->lease.sequence;
    std::size_t i = slice->first;
    Pick pick{slice->run, i, slice->one_by_one};  // reused for all events: copies of `run` cost atomic operations
    for (; i < slice->end && (left > 0 || in_transactions); ++i) {
      if (slice->one_by_one && in_call > 0 && !in_transactions) {
        ++last_call_;
        in_call = 0;
      }
      pick.index = i;
      if (keys_.take(pick, last_call_, in_transactions)) take(pick);
    }
    slice->first = i;
    if (slice->first < slice->end) queue.push_front(std::move(*slice));
  }
  for (const RunSlice& slice : out) {
    queue.taken(*slice.run, slice.size());
    if (!slice.run->lease.sequence) continue;
    Busy& busy = busy_[*slice.run->lease.sequence];
    busy.events += slice.size();
    busy.progress = now;
  }
  return out;
}

void KeyFeed::put_back(RunQueue& queue, const std::vector<RunSlice>& slices, Clock::time_point now) {
  std::vector<Pick> picks;
  std::vector<RunSlice> unordered;
  for (const RunSlice& slice : slices) {
    note_settled(*slice.run, slice.size(), now);
    if (!queue.returned(*slice.run, slice.size())) continue;
    for (std::size_t i = slice.first; i < slice.end; ++i) {
      if (order_key_of(*slice.run, i) == 0) {
        unordered.push_back({slice.run, i, i + 1, slice.one_by_one, false});
      } else {
        picks.push_back({slice.run, i, slice.one_by_one});
      }
    }
  }
  keys_.put_back(picks);
  for (auto slice = unordered.rbegin(); slice != unordered.rend(); ++slice) queue.push_front(std::move(*slice));
}

void KeyFeed::added(HandlerState& state, const settler::Run& run) {
  if (run.lease.sequence && run.lease.lane) block({*run.lease.sequence, *run.lease.lane, true, false});
  const bool is_first = run.lease.attempts == 0 && !run.lease.lane;
  if (!state.settings.order->counts_unkeyed || !is_first) return;
  state.unkeyed += std::count(run.keys.begin(), run.keys.end(), envelope::no_order_key);
}

void KeyFeed::note_settled(const settler::Run& run, std::int64_t events, Clock::time_point now) {
  if (!run.lease.sequence) return;
  const auto at = busy_.find(*run.lease.sequence);
  if (at == busy_.end()) return;
  at->second.events = std::max<std::int64_t>(at->second.events - events, 0);
  at->second.progress = now;
}

void KeyFeed::forget(std::int32_t sequence) {
  keys_.forget(sequence);
  busy_.erase(sequence);
}

/// Once half of the memory is in use, slow keys wait in their lanes, so that others have room.
bool KeyFeed::review(HandlerState& state, Clock::time_point now) {
  if (state.queue.events() > 0) ++state.wakes.workers;
  if (now < next_slow_look_) return false;
  next_slow_look_ = now + slow_look_interval;
  keys_.block_slow_keys(state.room.is_filling(state.queue)
                            ? static_cast<std::size_t>(state.room.held(state.queue) / large_part)
                            : std::numeric_limits<std::size_t>::max());
  return false;
}

std::int64_t KeyFeed::run_events(const HandlerState& state, std::int64_t events) const {
  const Settings& settings = state.settings;
  if (!settings.needs.sql) return 0;
  const RateTokens& tokens = state.admission.tokens();
  if (tokens.is_on()) return std::min(tokens.in_a_bite(), settings.transaction_events);
  const std::int64_t transaction = state.room.pace().batch_size_in_transactions(events);
  return std::max<std::int64_t>(std::min(transaction, settings.transaction_events), 1);
}

// ---- questions

bool KeyFeed::stored(HandlerState& state, Clock::time_point now) {
  read_at(now);
  state.wakes.claimer = true;
  return true;
}

std::optional<Request> KeyFeed::check(HandlerState& state, Clock::time_point now) {
  const bool in_turn = now >= next_check_;
  if (!keys_.must_check() && !in_turn) return std::nullopt;
  if (in_turn) next_check_ = now + check_interval;
  auto lanes = keys_.to_check(max_checked, in_turn);
  if (lanes.empty()) return std::nullopt;
  return CheckLanes{state.handler_id, std::move(lanes), state.sequences.owned()};
}

void KeyFeed::answered(HandlerState& state, const CheckLanes& /*question*/, const CheckLanes::Result& result,
                       const Visit& /*visit*/) {
  LeaseKeeper::lose(state.sequences, result.lost);
  keys_.checked(result.lanes);
}

KeyFeed::Clock::time_point KeyFeed::next_due(HandlerState& state, Free free, Clock::time_point now) const {
  const auto due = FifoFeed::next_due(state, free, now);
  if (state.sequences.lanes_to_read() || keys_.must_check()) return std::min(due, now);
  if (!state.sequences.any_to_read(now)) return due;
  if (free.is_worth_a_claim) return std::min(due, next_read_);
  state.wants_room = true;
  return due;
}

std::optional<Request> KeyFeed::claim(HandlerState& state, Free free, Clock::time_point now) {
  const bool is_time = now >= std::min(next_read_, state.due.next());
  if (!is_time || free.events < 1) return std::nullopt;
  read_at(now + state.poll);
  auto read = state.sequences.to_read(now);
  // Room for ingest: a batch without room would make its sequence fall back to claims, and other sequences with it.
  const bool shares_room = read.empty() || state.sequences.any_caught_up();
  ClaimInOrder out;
  out.max_crashes = state.settings.max_crashes;
  out.request.claim = state.begin_claim(shares_room ? std::max<std::int64_t>(free.events / 2, 1) : free.events);
  out.request.claim.rows = max_rows;
  out.request.owned = state.sequences.with_lanes();
  out.request.read = std::move(read);
  return out;
}

std::optional<WindowEnd> KeyFeed::read(HandlerState& state, const std::vector<inbox::SequenceRead>& sequences,
                                       bool is_cut, bool /*has_claimed*/, Clock::time_point now) {
  bool more = is_cut;
  for (const inbox::SequenceRead& each : sequences) {
    state.sequences.read(each);
    more = more || each.state == inbox::SequenceRead::State::more;
  }
  if (more) read_at(now);
  return std::nullopt;
}

}  // namespace inboxd::dispatcher
