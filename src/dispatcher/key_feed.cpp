#include "dispatcher/key_feed.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace inboxd::dispatcher {
namespace {

/// A handler that does fewer events than this in one transaction is slow: its workers share a sequence, each with other
/// keys. The workers of a fast one take whole runs, each of another sequence, which keeps statements set-based.
constexpr std::int64_t slow_below = 64;
/// A sequence without progress for this long is shared: the worker that has it waits for a lock, say.
constexpr std::chrono::milliseconds shared_after{250};
/// Between two looks for keys that are slow: more than this time's work of theirs is in memory.
constexpr std::chrono::milliseconds slow_look_interval{1'000};
/// Between two comparisons of blocked keys with the database, in turn.
constexpr std::chrono::milliseconds check_interval{1'000};
constexpr std::size_t max_checked = 500;

/// Few events fit into a transaction, so one worker for each sequence would be too slow.
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

bool KeyFeed::may_take_from(const settler::Run& run, const TakeContext& context) const {
  if (!run.lease.sequence || !context.in_transactions || is_slow(context.pace)) return true;
  const auto at = busy_.find(*run.lease.sequence);
  return at == busy_.end() || at->second.events == 0 || context.now - at->second.progress > shared_after;
}

std::vector<settler::Report> KeyFeed::take_behind(RunQueue& queue) {
  auto out = keys_.take_behind();
  for (const settler::Report& report : out) {
    queue.taken(*report.run, 1);
    busy_[*report.run->lease.sequence].events += 1;
  }
  return out;
}

std::vector<RunSlice> KeyFeed::take(const TakeContext& context) {
  std::vector<RunSlice> out;
  RunQueue& queue = context.queue;
  const bool in_transactions = context.in_transactions;
  std::int64_t left = context.batch_size();
  const auto in_a_call = static_cast<std::size_t>(in_transactions ? left : context.events_per_call);
  std::size_t in_call = 0;
  ++last_call_;
  const auto take = [&](const Pick& pick) {
    append(out, pick, in_call == 0 && !in_transactions && context.events_per_call > 1);
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
    auto slice = queue.next_slice([&](const settler::Run& run) {
      return (sequence && run.lease.sequence == sequence) || may_take_from(run, context);
    });
    if (!slice) break;
    sequence = slice->run->lease.sequence;
    std::size_t i = slice->first;
    Pick pick{slice->run, i, slice->one_by_one};  // one for all events: copies of `run` cost atomic operations
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
    busy.progress = context.now;
  }
  return out;
}

void KeyFeed::put_back(RunQueue& queue, const std::vector<RunSlice>& slices) {
  std::vector<Pick> picks;
  std::vector<RunSlice> unordered;
  for (const RunSlice& slice : slices) {
    settled(*slice.run, slice.size());
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

void KeyFeed::settled(const settler::Run& run, std::int64_t events) {
  if (!run.lease.sequence) return;
  const auto at = busy_.find(*run.lease.sequence);
  if (at == busy_.end()) return;
  at->second.events = std::max<std::int64_t>(at->second.events - events, 0);
  at->second.progress = Clock::now();
}

void KeyFeed::forget(std::int32_t sequence) {
  keys_.forget(sequence);
  busy_.erase(sequence);
}

void KeyFeed::review(std::size_t max_deferred, Clock::time_point now) {
  if (now < next_slow_look_) return;
  next_slow_look_ = now + slow_look_interval;
  keys_.block_slow_keys(max_deferred);
}

std::vector<inbox::Lane> KeyFeed::to_check(Clock::time_point now) {
  if (!keys_.must_check() && now < next_check_) return {};
  next_check_ = now + check_interval;
  return keys_.to_check(max_checked);
}

}  // namespace inboxd::dispatcher
