// KeyOrder: keys that are blocked or parked, and their events that move to the lane.
#include <algorithm>
#include <iterator>
#include <utility>

#include "queue/key_order.hpp"

namespace inboxd::dispatcher {

// ---- events that move to the lane

/// A lane's own events are the events that its key waits for, unless such an event has failed again, or the key is
/// parked.
bool KeyOrder::goes_behind(const Pick& pick, OrderKey key) const {
  if (blocked_.empty()) return false;
  const auto blocked = blocked_.find(key);
  if (blocked == blocked_.end()) return false;
  return !pick.run->lease.lane || pick.run->lane_has_failed || blocked->second.is_parked;
}

/// The outcomes of a run's events are recorded in order; outcomes of another run may not be. Events of the lane are in
/// the database as such, so events of the log need not wait for them.
bool KeyOrder::may_send(const Active& active, const Deferred& deferred) {
  if (deferred.behind.empty()) return false;
  const settler::Run* const run = deferred.behind.front().run.get();
  if (deferred.sent > 0 && deferred.sent_run != run) return false;
  return run->lease.lane ? active.taken == 0 : active.taken == active.taken_of_lane;
}

void KeyOrder::send_if_possible(OrderKey key, const Active& active, Deferred& deferred) {
  if (deferred.is_sendable || !may_send(active, deferred)) return;
  deferred.is_sendable = true;
  sendable_.push_back(key);
}

std::vector<settler::Report> KeyOrder::take_behind() {
  std::vector<settler::Report> out;
  for (const OrderKey key : std::exchange(sendable_, {})) {
    const Active* const active = active_.find(key);
    if (active == nullptr || !active->has_deferred) continue;
    Deferred& deferred = deferred_.at(key);
    deferred.is_sendable = false;
    if (may_send(*active, deferred)) send(key, deferred, out);
  }
  return out;
}

/// The next events of a run.
void KeyOrder::send(OrderKey key, Deferred& deferred, std::vector<settler::Report>& out) {
  using Kind = settler::FailedEvent::Kind;
  const auto blocked = blocked_.find(key);
  const Kind kind = blocked != blocked_.end() && blocked->second.is_parked ? Kind::parked : Kind::waits;
  const settler::Run* const run = deferred.behind.front().run.get();
  deferred.sent_run = run;
  while (!deferred.behind.empty() && deferred.behind.front().run.get() == run) {
    Pick pick = std::move(deferred.behind.front());
    deferred.behind.pop_front();
    ++deferred.sent;
    --deferred_events_;
    std::vector<settler::FailedEvent> waiting;
    waiting.push_back({pick.index, {}, std::chrono::milliseconds{0}, kind});
    out.push_back({std::move(pick.run), pick.index, pick.index + 1, std::move(waiting)});
  }
}

/// An event has moved to the lane: its lane has events from now on, also where the first of them has its outcome
/// already.
void KeyOrder::was_sent(const settler::Run& run, std::size_t index, std::size_t taken) {
  const OrderKey key = order_key_of(run, index);
  const bool is_new = !blocked_.contains(key);
  block_key(key, *run.lease.sequence, run.key_of(index));
  if (is_new) reconsider(key);
  Active* const active = active_.find(key);
  const auto deferred = deferred_.find(key);
  const bool was_sent = deferred != deferred_.end() && deferred->second.sent > 0 && deferred->second.sent_run == &run;
  if (active == nullptr || !was_sent) return release(key, run, taken);  // it followed a failed event of its call
  --deferred->second.sent;
  refresh(key, *active);
}

// ---- blocking

KeyOrder::Blocked& KeyOrder::block_key(OrderKey key, std::int32_t sequence, std::int64_t lane) {
  Blocked& out = blocked_[key];
  out.sequence = sequence;
  out.lane = lane;
  ++out.changes;
  return out;
}

/// Moves events that were to be called to the lane, if they belong there now.
void KeyOrder::reconsider(OrderKey key) {
  Active* const active = active_.find(key);
  if (active == nullptr || !active->has_deferred) return;
  Deferred& deferred = deferred_.at(key);
  const auto stay = std::stable_partition(deferred.calls.begin(), deferred.calls.end(),
                                          [&](const Pick& pick) { return !goes_behind(pick, key); });
  for (auto pick = stay; pick != deferred.calls.end(); ++pick) pick->run->lane_has_failed = true;
  std::deque<Pick> behind;
  std::merge(stay, deferred.calls.end(), deferred.behind.begin(), deferred.behind.end(), std::back_inserter(behind),
             is_earlier);
  deferred.behind = std::move(behind);
  deferred.calls.erase(stay, deferred.calls.end());
  send_if_possible(key, *active, deferred);
}

void KeyOrder::note_blocking(const settler::Run& run, std::size_t index, bool is_parked, std::size_t taken) {
  const OrderKey key = order_key_of(run, index);
  Blocked& now = block_key(key, *run.lease.sequence, run.key_of(index));
  now.is_parked = now.is_parked || is_parked;
  reconsider(key);
  release(key, run, taken);
}

void KeyOrder::block(const inbox::Lane& lane) {
  const OrderKey key = order_key(lane.sequence, lane.lane);
  Blocked& blocked = block_key(key, lane.sequence, lane.lane);
  blocked.is_parked = blocked.is_parked || lane.is_parked;
  reconsider(key);
}

void KeyOrder::block_slow_keys(std::size_t least) {
  std::vector<OrderKey> slow;
  for (auto& [key, deferred] : deferred_) {
    const bool is_slow = deferred.taken && deferred.calls.size() > std::max(least, *deferred.taken);
    if (is_slow && !blocked_.contains(key)) slow.push_back(key);
    deferred.taken = 0;
  }
  for (const OrderKey key : slow) {
    const Pick& first = deferred_.at(key).calls.front();
    block_key(key, *first.run->lease.sequence, first.run->key_of(first.index));
    reconsider(key);
  }
}

// ---- comparison with the database

/// No event of the key is in memory: its lane may be over.
void KeyOrder::check_soon(OrderKey key) {
  const auto at = blocked_.find(key);
  if (at == blocked_.end()) return;
  ++at->second.changes;
  if (std::exchange(at->second.is_queued, true)) return;
  to_check_.push_back(key);
}

std::vector<inbox::Lane> KeyOrder::to_check(std::size_t most, bool others) {
  std::vector<inbox::Lane> out;
  const auto add = [&](Blocked& blocked) {
    blocked.checked_at = blocked.changes;
    out.push_back({blocked.sequence, blocked.lane, true, blocked.is_parked});
  };
  while (!to_check_.empty() && out.size() < most) {
    const auto at = blocked_.find(to_check_.front());
    to_check_.pop_front();
    if (at == blocked_.end()) continue;
    at->second.is_queued = false;
    add(at->second);
  }
  const std::size_t buckets = !others || blocked_.empty() ? 0 : std::min(blocked_.bucket_count(), most);
  for (std::size_t i = 0; i < buckets && out.size() < most; ++i) {
    next_bucket_ = (next_bucket_ + 1) % blocked_.bucket_count();
    for (auto at = blocked_.begin(next_bucket_); at != blocked_.end(next_bucket_); ++at) add(at->second);
  }
  return out;
}

void KeyOrder::checked(const std::vector<inbox::Lane>& lanes) {
  for (const inbox::Lane& lane : lanes) {
    const OrderKey key = order_key(lane.sequence, lane.lane);
    const auto at = blocked_.find(key);
    if (at == blocked_.end() || at->second.changes != at->second.checked_at) continue;
    at->second.is_parked = lane.is_parked;
    if (!lane.has_events && !lane.is_parked && !active_.contains(key)) {
      blocked_.erase(at);
    } else {
      reconsider(key);
    }
  }
}

}  // namespace inboxd::dispatcher
