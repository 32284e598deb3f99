#include "dispatcher/key_order.hpp"

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

namespace {

/// The keys of a run are loaded from memory this many events before they are looked up.
constexpr std::size_t prefetched = 8;

/// Of two events of one key. The later one may have been put back first.
bool is_earlier(const Pick& a, const Pick& b) {
  if (a.run == b.run) return a.index < b.index;
  const inbox::LeasedRun& of_a = a.run->lease;
  const inbox::LeasedRun& of_b = b.run->lease;
  if (of_a.ordinal != of_b.ordinal || of_a.shard_id != of_b.shard_id) return of_a.ordinal < of_b.ordinal;
  return of_a.events[a.index]->offset < of_b.events[b.index]->offset;
}

}  // namespace

// ---- taking

/// A lane's own events are those that its key waits for, unless one of them has failed again, or the key is parked.
bool KeyOrder::goes_behind(const Pick& pick, OrderKey key) const {
  if (blocked_.empty()) return false;
  const auto blocked = blocked_.find(key);
  if (blocked == blocked_.end()) return false;
  return !pick.run->lease.lane || pick.run->lane_has_failed || blocked->second.is_parked;
}

void KeyOrder::prefetch(const settler::Run& run, std::size_t index) const {
  if (index + prefetched < run.size()) active_.prefetch(order_key_of(run, index + prefetched));
}

void KeyOrder::defer(OrderKey key, Active& active, const Pick& pick) {
  deferred_[key].push_back(pick);
  active.has_deferred = true;
  ++deferred_events_;
}

/// After events left `deferred_`.
void KeyOrder::note_deferred(OrderKey key, Active& active) {
  const auto at = deferred_.find(key);
  active.has_deferred = at != deferred_.end() && !at->second.empty();
  if (!active.has_deferred && at != deferred_.end()) deferred_.erase(at);
}

bool KeyOrder::take(const Pick& pick, Call call, bool in_transaction) {
  prefetch(*pick.run, pick.index);
  const OrderKey key = order_key_of(*pick.run, pick.index);
  if (key == 0) return true;
  const auto [at, is_new] = active_.insert(key);
  Active& active = *at;
  if (!is_new) {
    const bool may_join = active.call == call && (in_transaction || active.run == pick.run.get());
    if (!may_join || active.has_deferred || goes_behind(pick, key)) {
      defer(key, active, pick);
      return false;
    }
  }
  active.sequence = *pick.run->lease.sequence;
  ++active.taken;
  if (goes_behind(pick, key)) {
    behind_.push_back(pick);
    return false;
  }
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
    if (goes_behind(deferred.front(), key)) {
      send_deferred_behind(key, *active, deferred);
      continue;
    }
    while (!deferred.empty() && out.size() < most && !goes_behind(deferred.front(), key)) {
      if (!out.empty() && (out.back().one_by_one || deferred.front().one_by_one)) break;
      if (!out.empty() && !in_transaction && out.back().run != deferred.front().run) break;
      out.push_back(std::move(deferred.front()));
      deferred.pop_front();
    }
    active->taken += static_cast<std::uint32_t>(out.size());
    active->call = call;
    active->run = out.back().run.get();
    deferred_events_ -= out.size();
    note_deferred(key, *active);
  }
  return out;
}

void KeyOrder::put_back(const std::vector<Pick>& picks) {
  for (auto pick = picks.rbegin(); pick != picks.rend(); ++pick) {
    const OrderKey key = order_key_of(*pick->run, pick->index);
    Active* const active = active_.find(key);
    if (active == nullptr) continue;  // its sequence was forgotten
    Deferred& deferred = deferred_[key];
    auto place = deferred.begin();
    while (place != deferred.end() && is_earlier(*place, *pick)) ++place;
    deferred.insert(place, *pick);
    active->has_deferred = true;
    ++deferred_events_;
    release(key, 1);
  }
}

/// That many taken events are settled or not taken any more. The key is free once none is taken.
void KeyOrder::release(OrderKey key, std::size_t events) {
  Active* const active = active_.find(key);
  if (active == nullptr) return;
  active->taken -= std::min(static_cast<std::uint32_t>(events), active->taken);
  if (active->taken > 0) return;
  if (active->has_deferred) {
    active->call = 0;
    ready_.push_back(key);
  } else {
    active_.erase(key);
    check_soon(key);
  }
}

// ---- blocked keys

KeyOrder::Blocked& KeyOrder::block_key_of(const settler::Run& run, std::size_t index) {
  Blocked& out = blocked_[order_key_of(run, index)];
  out.sequence = *run.lease.sequence;
  out.lane = run.key_of(index);
  ++out.changes;
  return out;
}

/// The next events of a key that is blocked, of one run: their outcomes are recorded together, and those of the next
/// run after them. So the lane never has an event without the earlier ones of its key, whenever the process may crash.
void KeyOrder::send_deferred_behind(OrderKey key, Active& active, Deferred& deferred) {
  active.call = 0;
  const settler::Run* const run = deferred.front().run.get();
  while (!deferred.empty() && deferred.front().run.get() == run && goes_behind(deferred.front(), key)) {
    behind_.push_back(std::move(deferred.front()));
    deferred.pop_front();
    ++active.taken;
    --deferred_events_;
  }
  note_deferred(key, active);
}

std::vector<settler::Report> KeyOrder::take_behind() {
  using Kind = settler::FailedEvent::Kind;
  std::vector<settler::Report> out;
  for (Pick& pick : std::exchange(behind_, {})) {
    const auto at = blocked_.find(order_key_of(*pick.run, pick.index));
    const Kind kind = at != blocked_.end() && at->second.is_parked ? Kind::parked : Kind::waits;
    std::vector<settler::FailedEvent> waiting;
    waiting.push_back({pick.index, {}, std::chrono::milliseconds{0}, kind});
    out.push_back({std::move(pick.run), pick.index, pick.index + 1, std::move(waiting)});
  }
  return out;
}

void KeyOrder::note_blocking(const settler::Run& run, std::size_t index, bool is_parked, std::size_t taken) {
  const OrderKey key = order_key_of(run, index);
  Blocked& now = block_key_of(run, index);
  now.is_parked = now.is_parked || is_parked;
  release(key, taken);
}

void KeyOrder::settled(const settler::Run& run, const settler::KeyEffects& effects, bool was_taken) {
  const std::size_t taken = was_taken ? 1 : 0;
  if (run.lease.lane && !(effects.blocking.empty() && effects.parking.empty())) run.lane_has_failed = true;
  for (const auto& range : effects.finished.ranges()) {
    for (std::int64_t i = range.first; i < range.end; ++i) {
      prefetch(run, static_cast<std::size_t>(i));
      const OrderKey key = order_key_of(run, static_cast<std::size_t>(i));
      if (key != 0) release(key, taken);
    }
  }
  for (const std::size_t index : effects.blocking) note_blocking(run, index, false, taken);
  for (const std::size_t index : effects.parking) note_blocking(run, index, true, taken);
  // Its lane has events from now on, also where the first of them has its outcome already.
  for (const std::size_t index : effects.waiting) note_blocking(run, index, false, taken);
}

void KeyOrder::block(const inbox::Lane& lane) {
  const OrderKey key = order_key(lane.sequence, lane.lane);
  Blocked& blocked = blocked_[key];
  blocked.sequence = lane.sequence;
  blocked.lane = lane.lane;
  blocked.is_parked = blocked.is_parked || lane.is_parked;
  ++blocked.changes;
}

/// No event of the key is in memory: its lane may be over.
void KeyOrder::check_soon(OrderKey key) {
  const auto at = blocked_.find(key);
  if (at == blocked_.end()) return;
  ++at->second.changes;
  if (std::exchange(at->second.is_queued, true)) return;
  to_check_.push_back(key);
}

std::vector<inbox::Lane> KeyOrder::to_check(std::size_t most) {
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
  const std::size_t buckets = blocked_.empty() ? 0 : std::min(blocked_.bucket_count(), most);
  for (std::size_t i = 0; i < buckets && out.size() < most; ++i) {
    next_bucket_ = (next_bucket_ + 1) % blocked_.bucket_count();
    for (auto at = blocked_.begin(next_bucket_); at != blocked_.end(next_bucket_); ++at) add(at->second);
  }
  return out;
}

void KeyOrder::checked(const std::vector<inbox::Lane>& lanes) {
  for (const inbox::Lane& lane : lanes) {
    const auto at = blocked_.find(order_key(lane.sequence, lane.lane));
    if (at == blocked_.end() || at->second.changes != at->second.checked_at) continue;
    at->second.is_parked = lane.is_parked;
    if (!lane.has_events && !lane.is_parked && !active_.contains(at->first)) blocked_.erase(at);
  }
}

void KeyOrder::forget(std::int32_t sequence) {
  for (const OrderKey key : active_.keys_if([&](const Active& active) { return active.sequence == sequence; })) {
    active_.erase(key);
    if (const auto at = deferred_.find(key); at != deferred_.end()) {
      deferred_events_ -= at->second.size();
      deferred_.erase(at);
    }
  }
  std::erase_if(blocked_, [&](const auto& entry) { return entry.second.sequence == sequence; });
  std::erase_if(behind_, [&](const Pick& pick) { return *pick.run->lease.sequence == sequence; });
}

}  // namespace inboxd::dispatcher
