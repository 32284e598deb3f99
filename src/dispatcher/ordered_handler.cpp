// InFlight for a handler that keeps order: its settings, its sequences, and the keys of its events.

#include <algorithm>
#include <limits>
#include <utility>

#include "dispatcher/in_flight.hpp"

namespace inboxd::dispatcher {
/// Under the lock.
void InFlight::make_feed(const Order* order) {
  if (order == nullptr) {
    feed_.become<FifoFeed>();
  } else if (order->batch) {
    feed_.become<WindowFeed>(*order->batch, poll_);
  } else {
    feed_.become<KeyFeed>();
  }
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
  if (!settings_.order || !settings_.order->counts_unkeyed || !is_first) return 0;
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
      feed_.forget(sequence);
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
  if (!settings_.order || settings_.order->batch || !takes()) return {};
  const std::int32_t sequence = settings_.order->sequence_of(part.shard_id);
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

bool InFlight::awaits(const std::vector<settler::Report>& reports) const {
  const auto is_of_lane = [](const settler::Report& report) { return report.run->lease.lane.has_value(); };
  if (std::any_of(reports.begin(), reports.end(), is_of_lane)) return true;
  const std::lock_guard lock{mutex_};
  return feed_.deferred() > 0;
}

// ---- settler

void InFlight::settled_in_order(const settler::Run& run, const settler::KeyEffects& effects) {
  const std::lock_guard lock{mutex_};
  feed_.settled_in_order(run, effects, queue_.holds(run));
  // The lane's next event is due.
  if (run.lease.lane || !effects.waiting.empty()) {
    next_read_ = Clock::now();
    claimer_->wake.notify();
  }
  work_has_come();
}

}  // namespace inboxd::dispatcher
