// Which events of an order key may be taken. Events of blocked keys: blocked_keys.cpp.
#include "queue/key_order.hpp"

#include <algorithm>
#include <utility>

#include "base/uuid.hpp"

namespace inboxd::dispatcher {

/// A producer can choose keys whose hashes collide, but not across sequences: it does not know the secret.
OrderKey order_key(std::int32_t sequence, envelope::KeyHash hash) {
  if (hash == envelope::no_order_key) return 0;
  static const auto secret = static_cast<std::uint64_t>(base::random_fence());
  std::uint64_t mixed = secret + static_cast<std::uint64_t>(sequence) * 0x9e3779b97f4a7c15;  // splitmix64
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  const std::uint64_t key = static_cast<std::uint64_t>(hash) ^ mixed ^ (mixed >> 31);
  return key == 0 ? 1 : key;
}

OrderKey order_key_of(const settler::Run& run, std::size_t index) {
  return order_key(run.lease.sequence.value_or(inbox::whole_handler), run.key_of(index));
}

bool is_earlier(const Pick& a, const Pick& b) {
  if (a.run == b.run) return a.index < b.index;
  const inbox::LeasedRun& of_a = a.run->lease;
  const inbox::LeasedRun& of_b = b.run->lease;
  if (of_a.ordinal != of_b.ordinal || of_a.shard_id != of_b.shard_id) return of_a.ordinal < of_b.ordinal;
  return of_a.events[a.index]->offset < of_b.events[b.index]->offset;
}

namespace {

/// The keys of a run are loaded from memory this many events before they are looked up.
constexpr std::size_t prefetched = 8;

/// Usually at the end.
void insert_in_order(std::deque<Pick>& to, const Pick& pick) {
  auto place = to.end();
  while (place != to.begin() && is_earlier(pick, *std::prev(place))) --place;
  to.insert(place, pick);
}

}  // namespace

void KeyOrder::prefetch(const settler::Run& run, std::size_t index) const {
  if (index + prefetched < run.size()) active_.prefetch(order_key_of(run, index + prefetched));
}

/// To call it later, or to move it to the lane.
KeyOrder::Deferred& KeyOrder::defer(OrderKey key, Active& active, const Pick& pick) {
  Deferred& deferred = deferred_[key];
  active.has_deferred = true;
  ++deferred_events_;
  const bool behind = goes_behind(pick, key);
  if (behind) pick.run->lane_has_failed = true;  // none of its later events may run before this event
  insert_in_order(behind ? deferred.behind : deferred.calls, pick);
  return deferred;
}

bool KeyOrder::take(const Pick& pick, Call call, bool in_transaction) {
  prefetch(*pick.run, pick.index);
  const OrderKey key = order_key_of(*pick.run, pick.index);
  if (key == 0) return true;
  const auto [at, is_new] = active_.insert(key);
  Active& active = *at;
  if (is_new) active.sequence = *pick.run->lease.sequence;
  if (goes_behind(pick, key)) {
    send_if_possible(key, active, defer(key, active, pick));
    return false;
  }
  const bool may_join = active.call == call && (in_transaction || active.run == pick.run.get());
  const bool must_wait = active.has_deferred && !deferred_.at(key).calls.empty();
  if (must_wait || (active.taken > 0 && !may_join)) {
    defer(key, active, pick);
    return false;
  }
  ++active.taken;
  if (pick.run->lease.lane) ++active.taken_of_lane;
  active.call = call;
  active.run = pick.run.get();
  return true;
}

std::vector<Pick> KeyOrder::take_ready(std::size_t most, Call call, bool in_transaction) {
  std::vector<Pick> out;
  while (out.empty() && !ready_.empty()) {
    const OrderKey key = ready_.front();
    ready_.pop_front();
    Active* const active = active_.find(key);
    if (active == nullptr || active->taken > 0 || !active->has_deferred) continue;
    Deferred& deferred = deferred_.at(key);
    while (!deferred.calls.empty() && out.size() < most) {
      const Pick& next = deferred.calls.front();
      if (!out.empty() && (out.back().one_by_one || next.one_by_one)) break;
      if (!out.empty() && !in_transaction && out.back().run != next.run) break;
      if (next.run->lease.lane) ++active->taken_of_lane;
      out.push_back(std::move(deferred.calls.front()));
      deferred.calls.pop_front();
    }
    if (out.empty()) continue;
    active->taken += static_cast<std::uint32_t>(out.size());
    active->call = call;
    active->run = out.back().run.get();
    if (deferred.taken) *deferred.taken += out.size();
    deferred_events_ -= out.size();
    refresh(key, *active);
  }
  return out;
}

void KeyOrder::put_back(const std::vector<Pick>& picks) {
  for (auto pick = picks.rbegin(); pick != picks.rend(); ++pick) {
    const OrderKey key = order_key_of(*pick->run, pick->index);
    Active* const active = active_.find(key);
    if (active == nullptr) continue;  // its sequence was forgotten
    defer(key, *active, *pick);
    release(key, *pick->run, 1);
  }
}

/// `events` taken events are settled or not taken any more.
void KeyOrder::release(OrderKey key, const settler::Run& run, std::size_t events) {
  Active* const active = active_.find(key);
  if (active == nullptr) return;
  active->taken -= std::min(static_cast<std::uint32_t>(events), active->taken);
  if (run.lease.lane) active->taken_of_lane -= std::min(static_cast<std::uint32_t>(events), active->taken_of_lane);
  if (active->taken == 0) active->call = 0;
  refresh(key, *active);
}

/// After a change of the key: its next events are ready, may move to the lane, or it is free.
void KeyOrder::refresh(OrderKey key, Active& active) {
  if (active.has_deferred) {
    Deferred& deferred = deferred_.at(key);
    if (active.taken == 0 && !deferred.calls.empty()) ready_.push_back(key);
    send_if_possible(key, active, deferred);
    active.has_deferred = !deferred.empty();
    if (!active.has_deferred) deferred_.erase(key);
  }
  if (active.has_deferred || active.taken > 0) return;
  active_.erase(key);
  check_soon(key);
}

void KeyOrder::settled(const settler::Run& run, const settler::KeyEffects& effects, bool was_taken) {
  const std::size_t taken = was_taken ? 1 : 0;
  if (run.lease.lane && !(effects.blocking.empty() && effects.parking.empty())) run.lane_has_failed = true;
  for (const auto& range : effects.finished.ranges()) {
    for (std::int64_t i = range.first; i < range.end; ++i) {
      prefetch(run, static_cast<std::size_t>(i));
      const OrderKey key = order_key_of(run, static_cast<std::size_t>(i));
      if (key != 0) release(key, run, taken);
    }
  }
  for (const std::size_t index : effects.blocking) note_blocking(run, index, false, taken);
  for (const std::size_t index : effects.parking) note_blocking(run, index, true, taken);
  for (const std::size_t index : effects.waiting) was_sent(run, index, taken);
}

void KeyOrder::forget(std::int32_t sequence) {
  for (const OrderKey key : active_.keys_if([&](const Active& active) { return active.sequence == sequence; })) {
    active_.erase(key);
    const auto at = deferred_.find(key);
    if (at == deferred_.end()) continue;
    deferred_events_ -= at->second.calls.size() + at->second.behind.size();
    deferred_.erase(at);
  }
  std::erase_if(sendable_, [&](OrderKey key) { return !active_.contains(key); });
  std::erase_if(blocked_, [&](const auto& entry) { return entry.second.sequence == sequence; });
}

}  // namespace inboxd::dispatcher
