// InFlight for a handler that keeps order: its sequences, blocked keys, and the events that workers may take.

#include <algorithm>
#include <limits>
#include <utility>

#include "dispatcher/in_flight.hpp"
#include "dispatcher/order.hpp"

namespace inboxd::dispatcher {
namespace {

/// A handler that does fewer events than this in one transaction is slow: its workers share a sequence, each with other
/// keys. The workers of a fast one take whole runs, each of another sequence, which keeps statements set-based.
constexpr std::int64_t slow_below = 64;
/// A sequence without progress for this long is shared: the worker that has it waits for a lock, say.
constexpr std::chrono::milliseconds shared_after{250};
/// Between two looks for keys that are slow: more than this time's work of theirs is in memory.
constexpr std::chrono::milliseconds slow_after{1'000};
/// A slow key is blocked if its events are more than one in so many of those in memory.
constexpr std::int64_t large_part = 8;

}  // namespace

/// Under the lock.
void InFlight::set_order(const config::Handler& settings, const plugin::Instance::Needs& needs) {
  std::shared_ptr<const Order> order;
  if (settings.mode != config::Mode::single) {
    const bool is_batch = settings.mode == config::Mode::batch;
    order = std::make_shared<const Order>(Order{envelope::OrderKeyRule{settings}, settings.on_failure,
                                                config::order_scope_of(settings) == config::OrderScope::handler,
                                                is_batch ? std::optional{settings.batch} : std::nullopt,
                                                config::order_text(settings),
                                                !is_batch && !settings.chose_order});
  }
  const bool is_same = order && order_ && *order == *order_ && needs.no_payloads == needs_.no_payloads;
  if (!is_same) {
    sequences_.drain_all();
    window_.reset();
    if (order && order->batch) window_.emplace(*order->batch, poll_);
  }
  order_ = std::move(order);
  sequences_.use_whole_handler(order_ && order_->is_of_whole_handler);
  after_change();
  ++work_changes_;
  work_.notify_all();
}

void InFlight::set_keys(settler::Run& run, const Order* order) {
  if (order == nullptr || order->batch) {
    run.keys.assign(run.size(), envelope::no_order_key);
    return;
  }
  run.key_rule = order->rule;
  run.on_failure = order->on_failure;
  run.keys.reserve(run.size());
  base::Arena arena{4096};
  const config::Unwrap unwrap = settler::unwrap_of(run);
  for (const event::Event* event : run.lease.events) {
    // The events of a lane share its key, also if the rule has changed since.
    run.keys.push_back(run.lease.lane ? *run.lease.lane : order->rule.hash(*event, arena, unwrap));
  }
}

/// Under the lock. Events of the run without an order key, at their first attempt.
std::int64_t InFlight::unkeyed_of(const settler::Run& run) const {
  const bool is_first = run.lease.attempts == 0 && !run.lease.lane;
  if (!order_ || !order_->counts_unkeyed || !is_first) return 0;
  return std::count(run.keys.begin(), run.keys.end(), envelope::no_order_key);
}

/// Acts on sequences that began to drain, and on runs that left memory. After every change of the queue.
void InFlight::after_change() {
  bool any_drain = false;
  do {
    any_drain = false;
    for (const auto& left : queue_.take_left()) {
      if (!sequences_.run_left(left.sequence, left.delivery_id)) continue;
      next_read_ = Clock::now();
      claimer_->wake.notify();
    }
    for (const std::int32_t sequence : sequences_.take_begun_drains()) {
      any_drain = true;
      keys_.forget(sequence);
      if (window_) window_->forget();
      busy_.erase(sequence);
      queue_.release_sequence(sequence);
      claimer_->wake.notify();
    }
  } while (any_drain);
  count();
}

void InFlight::work_has_come() {
  ++work_changes_;
  if (idle_workers_ > 0) work_.notify_one();
}

// ---- ingest

consumer::HandOff::Reservation InFlight::reserve_in_order(const consumer::HandOff::InOrder& part, std::int64_t events,
                                                          std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  if (!order_ || order_->batch || !takes()) return {};
  const std::int32_t sequence = order_->sequence_of(part.shard_id);
  const auto mine = sequences_.reserve(sequence, {part.epoch, part.expected});
  if (!mine) return {};
  auto out = mine->may_be_leased ? grant(events, bytes) : consumer::HandOff::Reservation{};
  out.is_open = true;
  out.sequence = sequence;
  out.sequence_fence = mine->fence;
  return out;
}

void InFlight::end_in_order(const consumer::HandOff::InOrder& part, std::int32_t sequence, bool is_in_memory) {
  const std::lock_guard lock{mutex_};
  sequences_.end_reservation(sequence, {part.epoch, part.expected}, {part.epoch, part.next}, is_in_memory);
  after_change();
  if (is_in_memory) return;
  next_read_ = Clock::now();
  claimer_->wake.notify();
}

void InFlight::assigned(std::int32_t shard_id) {
  const std::lock_guard lock{mutex_};
  sequences_.assigned(shard_id);
  claimer_->wake.notify();
}

void InFlight::revoked(std::int32_t shard_id) {
  const std::lock_guard lock{mutex_};
  sequences_.revoked(shard_id);
  after_change();
}

// ---- workers

/// Few events fit into a transaction, so one worker for each sequence would be too slow.
bool InFlight::is_slow() const { return pace_.batch_size_in_transactions(slow_below * pace_.workers()) < slow_below; }

bool InFlight::may_take_from(const settler::Run& run, Clock::time_point now) const {
  if (!run.lease.sequence || !needs_.sql || is_slow()) return true;
  const auto at = busy_.find(*run.lease.sequence);
  return at == busy_.end() || at->second.events == 0 || now - at->second.progress > shared_after;
}

void InFlight::append(Taken& out, const Pick& pick, bool begins_call) {
  if (!out.slices.empty() && !begins_call) {
    RunSlice& last = out.slices.back();
    if (last.run == pick.run && last.end == pick.index && last.one_by_one == pick.one_by_one) {
      ++last.end;
      return;
    }
  }
  out.slices.push_back({pick.run, pick.index, pick.index + 1, pick.one_by_one, begins_call});
}

/// Events that may run now: first those whose key became free, then the queue in its order. In a transaction, all
/// events of a key go to one worker, and a run is not cut. Without one, events of a key may only share a call, if they
/// are of one run: the next call with the key comes after the outcome is recorded.
InFlight::Taken InFlight::take_in_order() {
  Taken out;
  const auto now = Clock::now();
  sequences_.drain_overdue(now);
  after_change();
  out.uncalled = keys_.take_behind();
  for (const settler::Report& report : out.uncalled) {
    queue_.taken(*report.run, 1);
    busy_[*report.run->lease.sequence].events += 1;
  }
  if (!out.uncalled.empty()) return out;
  const std::int64_t queued = queue_.queued();
  if (queued == 0 || !may_begin()) return out;
  std::int64_t left = needs_.sql ? pace_.batch_size_in_transactions(queued) : pace_.batch_size(queued);
  left = std::min(left, tokens_.allowed(now));
  const auto in_a_call = static_cast<std::size_t>(needs_.sql ? left : events_per_call_);
  std::size_t in_call = 0;
  ++last_call_;
  const auto take = [&](const Pick& pick) {
    append(out, pick, in_call == 0 && !needs_.sql && events_per_call_ > 1);
    --left;
    ++in_call;
    if (needs_.sql || (in_call < in_a_call && !pick.one_by_one)) return;
    ++last_call_;
    in_call = 0;
  };
  while (left > 0 && keys_.any_ready()) {
    const std::size_t most = needs_.sql ? in_a_call : in_a_call - in_call;
    for (const Pick& pick : keys_.take_ready(most, last_call_, needs_.sql)) take(pick);
  }
  std::optional<std::int32_t> sequence;
  while (left > 0) {
    auto slice = queue_.next_slice([&](const settler::Run& run) {
      return (sequence && run.lease.sequence == sequence) || may_take_from(run, now);
    });
    if (!slice) break;
    sequence = slice->run->lease.sequence;
    std::size_t i = slice->first;
    Pick pick{slice->run, i, slice->one_by_one};  // one for all events: copies of `run` cost atomic operations
    for (; i < slice->end && (left > 0 || needs_.sql); ++i) {
      if (slice->one_by_one && in_call > 0 && !needs_.sql) {
        ++last_call_;
        in_call = 0;
      }
      pick.index = i;
      if (keys_.take(pick, last_call_, needs_.sql)) take(pick);
    }
    slice->first = i;
    if (slice->first < slice->end) queue_.push_front(std::move(*slice));
  }
  for (const RunSlice& slice : out.slices) {
    queue_.taken(*slice.run, slice.size());
    if (!slice.run->lease.sequence) continue;
    Busy& busy = busy_[*slice.run->lease.sequence];
    busy.events += slice.size();
    busy.progress = now;
  }
  if (keys_.any_behind() && out.slices.empty()) return take_in_order();
  if (queue_.any_slice() || keys_.any_ready() || keys_.any_behind()) {
    if (!out.slices.empty()) work_has_come();
  }
  return out;
}

void InFlight::put_back_in_order(const std::vector<RunSlice>& slices) {
  std::vector<Pick> picks;
  std::vector<RunSlice> unordered;
  for (const RunSlice& slice : slices) {
    if (slice.run->lease.sequence) note_settled(*slice.run->lease.sequence, slice.size());
    if (!queue_.returned(*slice.run, slice.size())) continue;
    for (std::size_t i = slice.first; i < slice.end; ++i) {
      if (order_key_of(*slice.run, i) == 0) {
        unordered.push_back({slice.run, i, i + 1, slice.one_by_one, false});
      } else {
        picks.push_back({slice.run, i, slice.one_by_one});
      }
    }
  }
  keys_.put_back(picks);
  for (auto slice = unordered.rbegin(); slice != unordered.rend(); ++slice) queue_.push_front(std::move(*slice));
}

/// Under the lock. Once half of the memory is in use, slow keys wait in their lanes, so that others have room.
void InFlight::block_slow_keys() {
  const auto now = Clock::now();
  if (now < next_slow_look_ || window_) return;
  next_slow_look_ = now + slow_after;
  const bool is_filling =
      budgets_->events.left_for(held()) < held() || budgets_->bytes.left_for(held_bytes()) < held_bytes();
  keys_.block_slow_keys(is_filling ? static_cast<std::size_t>(held() / large_part)
                                   : std::numeric_limits<std::size_t>::max());
}

bool InFlight::awaits(const std::vector<settler::Report>& reports) const {
  const auto is_of_lane = [](const settler::Report& report) { return report.run->lease.lane.has_value(); };
  if (std::any_of(reports.begin(), reports.end(), is_of_lane)) return true;
  const std::lock_guard lock{mutex_};
  return order_ && keys_.any_deferred();
}

// ---- settler

void InFlight::note_settled(std::int32_t sequence, std::int64_t events) {
  const auto at = busy_.find(sequence);
  if (at == busy_.end()) return;
  at->second.events = std::max<std::int64_t>(at->second.events - events, 0);
  at->second.progress = Clock::now();
}

void InFlight::settled_in_order(const settler::Run& run, const settler::KeyEffects& effects) {
  const std::lock_guard lock{mutex_};
  keys_.settled(run, effects, queue_.holds(run));
  // The lane's next event is due.
  if (run.lease.lane || !effects.waiting.empty()) {
    next_read_ = Clock::now();
    claimer_->wake.notify();
  }
  work_has_come();
}

}  // namespace inboxd::dispatcher
