#include "unit/simulation/simulated_database.hpp"

#include <algorithm>
#include <limits>

#include "unit/settler/runs.hpp"

namespace inboxd::test {
namespace {

using namespace dispatcher;
using Row = SimulatedDatabase::Row;
constexpr Instant never = Instant::max();

std::int64_t share_of(const Row& row) {
  const auto events = static_cast<std::int64_t>(row.pending.size());
  const int halvings = std::min(row.claims, 20);
  return std::max<std::int64_t>(1, (events + (1 << halvings) - 1) >> halvings);
}

}  // namespace

event::Microseconds microseconds(Instant time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

int key_of(const Place& place) { return static_cast<int>((place.second * 5 + place.second / 3 + place.first) % 4); }

/// A row that is new, or has other offsets.
void SimulatedDatabase::trace_row(std::int64_t id) const {
  if (!trace.is_on()) return;
  const Row& row = rows.at(id);
  const auto or_none = [](const auto& value) { return value ? std::to_string(*value) : "none"; };
  trace.write("row", id, row.shard, or_none(row.sequence), row.ordinal, or_none(row.lane), text_of(row.pending),
              text_of(row.due), row.attempts);
}

/// The mode, and all rows.
void SimulatedDatabase::trace_order() const {
  trace.write("change_order", version, order == "single" || order == "batch" ? order : "sequential");
  for (const auto& [id, row] : rows) trace_row(id);
  trace.write("all");
}

std::optional<std::int32_t> SimulatedDatabase::sequence_of(std::int32_t shard) const {
  if (order == "single") return std::nullopt;
  return order == "batch" || order.find("handler") != std::string::npos ? inbox::whole_handler : shard;
}

// ---- ingest

std::optional<std::vector<inbox::LeasedRun>> SimulatedDatabase::ingest(int owner, const Batch& batch, Instant now) {
  if (batch.version != version) return std::nullopt;
  if (batch.sequence && batch.leased > 0) {
    const Owned& of = sequences[*batch.sequence];
    if (guards.compares_fences && (of.owner != owner || of.fence != batch.sequence_fence)) return std::nullopt;
  }
  if (positions[batch.shard] != batch.expected) return std::nullopt;
  positions[batch.shard] = batch.next;
  trace.write("now", text_of(now));
  trace.write("ingest", owner, batch.shard, batch.expected, batch.next, batch.version);
  for (auto offset = batch.expected; trace.is_on() && offset < batch.next; ++offset) {
    trace.write("event", batch.shard, offset, key_of({batch.shard, offset}));
  }
  std::vector<inbox::LeasedRun> out;
  const auto middle = batch.expected + batch.leased;
  for (const auto& [first, end] : {std::pair{batch.expected, middle}, std::pair{middle, batch.next}}) {
    if (first == end) continue;
    Row row{batch.shard, batch.sequence, next_id};
    for (auto offset = first; offset < end; ++offset) row.pending.insert(offset);
    row.due = batch.sequence ? never : now;
    row.received = now;
    rows[next_id] = row;
    trace_row(next_id);
    const auto events = static_cast<std::int64_t>(row.pending.size());
    if (first < middle) {
      trace.write("born", owner, next_id, batch.sequence_fence);
      out.push_back(lease(next_id, owner, batch.fence, events, batch.sequence ? never : now + batch.lease));
    }
    ++next_id;
  }
  return out;
}

void SimulatedDatabase::release_born(int owner, std::int64_t fence, Instant now) {
  for (auto& [id, row] : rows) {
    if (row.owner != owner || row.fence != fence) continue;
    trace.write("release", owner, id, fence);
    release(row, now);
  }
}

inbox::LeasedRun SimulatedDatabase::lease(std::int64_t id, int owner, std::int64_t fence, std::int64_t events,
                                          Instant due) {
  if (static_cast<std::int64_t>(rows[id].pending.size()) > events) {  // the rest is another row
    Row rest = rows[id];
    auto cut = std::next(rest.pending.begin(), events);
    rows[id].pending = {rest.pending.begin(), cut};
    rest.pending.erase(rest.pending.begin(), cut);
    rest.owner = 0;
    rest.fence = 0;
    rows[next_id] = rest;
    trace.write("cut", id, next_id, events);
    trace_row(next_id++);
  }
  Row& row = rows[id];
  trace.write("lease", owner, id, fence, text_of(due), text_of(row.pending));
  auto out = lease_of({row.pending.begin(), row.pending.end()}, id, row.attempts, simulated_handler);
  auto block = std::make_shared<inbox::EventBlock>();
  block->events.reserve(out.events.size());
  for (const event::Event*& event : out.events) {
    block->events.push_back(event::copy(*event, block->arena));
    block->events.back().shard_id = row.shard;
    const int key = key_of({row.shard, event->offset});
    if (key != 0) block->events.back().key = block->arena.copy("key " + std::to_string(key));
    event = &block->events.back();
  }
  row.owner = owner;
  row.fence = fence;
  row.due = due;
  out.claims = ++row.claims;
  out.block = std::move(block);
  out.shard_id = row.shard;
  out.key = {id, fence};
  out.sequence = row.sequence;
  out.ordinal = row.ordinal;
  out.lane = row.lane;
  out.was_deferred = row.was_deferred;
  return out;
}

// ---- questions

std::optional<Answer> SimulatedDatabase::ask(int owner, const Request& request, int statement, Instant now) {
  trace.write("now", text_of(now));
  if (const auto* const it = std::get_if<RenewLeases>(&request)) return renew(owner, *it, now);
  if (const auto* const it = std::get_if<ReleaseLeases>(&request)) {
    for (const auto& key : it->keys) {
      const auto at = rows.find(key.delivery_id);
      if (at == rows.end() || at->second.owner != owner || at->second.fence != key.fence) continue;
      trace.write("release", owner, key.delivery_id, key.fence);
      release(at->second, now);
    }
    return std::monostate{};
  }
  if (const auto* const it = std::get_if<ReleaseClaims>(&request)) {
    for (const auto fence : it->fences) release_born(owner, fence, now);
    return std::monostate{};
  }
  if (const auto* const it = std::get_if<RenewSequences>(&request)) {
    std::vector<inbox::RenewedSequence> out;
    for (const auto& key : it->keys) {
      Owned& of = sequences[key.sequence];
      if (of.owner != owner) continue;
      of.leased_until = now + it->lease;
      trace.write("renew_sequence", owner, key.sequence, key.fence, text_of(of.leased_until));
      out.push_back({key.sequence, of.wanted_by != 0, of.fence != key.fence ? std::optional{of.fence} : std::nullopt});
    }
    return out;
  }
  const auto lost_of = [&](const std::vector<inbox::SequenceKey>& keys) {
    std::vector<inbox::SequenceKey> out;
    for (const auto& key : keys) {
      const Owned& of = sequences[key.sequence];
      if (of.owner != owner || of.fence != key.fence) out.push_back(key);
    }
    return out;
  };
  if (const auto* const it = std::get_if<FindLostSequences>(&request)) return lost_of(it->keys);
  if (const auto* const it = std::get_if<ReleaseSequences>(&request)) {
    for (const auto& key : it->keys) {
      Owned& of = sequences[key.sequence];
      if (of.owner != owner || of.fence != key.fence) continue;
      trace.write("release_sequence", owner, key.sequence, key.fence);
      of = {};
    }
    return std::monostate{};
  }
  if (std::holds_alternative<ReadDue>(request)) {
    inbox::DueReading out;
    out.now = microseconds(now);
    out.xmin = out.xmax = ++snapshots;
    for (const auto& [id, row] : rows) {
      if (row.due != never) out.earliest = std::min(out.earliest.value_or(out.now), microseconds(row.due));
    }
    return out;
  }
  if (const auto* const it = std::get_if<TakeSequences>(&request)) return take(owner, *it, now);
  if (const auto* const it = std::get_if<ReadLanes>(&request)) return lanes_of(*it);
  if (const auto* const it = std::get_if<CheckLanes>(&request)) {
    if (statement > 0) return CheckLanes::Result{checked, lost_of(it->owned)};
    checked = it->lanes;
    for (inbox::Lane& lane : checked) {
      lane.has_events = !in_order(lane.sequence, lane.lane).empty();
      lane.is_parked = is_parked({0, lane.sequence}, lane.lane);
    }
    return std::nullopt;
  }
  if (const auto* const it = std::get_if<Claim>(&request)) return claim(owner, it->request, now);
  if (const auto* const it = std::get_if<ClaimInOrder>(&request)) {
    if (statement > 0 && it->request.window) return claim_window(owner, it->request);
    if (statement > 0) return claim_in_order(owner, it->request, now);
    read_positions = positions;
    return std::nullopt;
  }
  if (const auto* const it = std::get_if<WriteHold>(&request)) {
    write_hold(owner, it->news);
    return std::monostate{};
  }
  if (const auto* const it = std::get_if<ReadHolds>(&request)) {
    return ReadHolds::Result{{simulated_handler, read_hold(owner, *it, now)}};
  }
  if (const auto* const it = std::get_if<TakeTokens>(&request)) return take_tokens(*it, now);
  if (const auto* const it = std::get_if<TurnWindow>(&request)) return turn_window(owner, it->plan, now);
  if (const auto* const it = std::get_if<ShareCalls>(&request)) return share_calls(owner, it->calls, now);
  return std::visit([](const auto& it) { return Answer{typename std::decay_t<decltype(it)>::Result{}}; }, request);
}

std::int64_t SimulatedDatabase::renew(int owner, const RenewLeases& it, Instant now) {
  std::int64_t out = 0;
  for (const auto& key : it.keys) {
    const auto at = rows.find(key.delivery_id);
    if (at == rows.end() || at->second.owner != owner || at->second.fence != key.fence) continue;
    at->second.due = now + it.lease;
    trace.write("renew", owner, key.delivery_id, key.fence, text_of(at->second.due));
    ++out;
  }
  return out;
}

void SimulatedDatabase::change_fences(int owner) {
  for (auto& [number, sequence] : sequences) {
    if (sequence.owner != owner) continue;
    sequence.fence = -++next_fence;
    trace.write("new_fence", number, sequence.fence);
    for (auto& [id, row] : rows) {
      if (row.sequence != number || row.owner != owner) continue;
      row.fence = -++next_fence;
      trace.write("new_row_fence", owner, id, row.fence);
    }
  }
}

void SimulatedDatabase::release(Row& row, Instant now) {
  row.owner = 0;
  row.fence = 0;
  row.claims = std::max(row.claims - 1, 0);
  row.due = !row.sequence || row.lane ? now : never;
}

std::vector<std::int32_t> SimulatedDatabase::take(int owner, const TakeSequences& it, Instant now) {
  if (it.order != order || order == "single") return {};
  std::set<std::int32_t> candidates{it.wanted.begin(), it.wanted.end()};
  for (const auto& [id, row] : rows) {
    if (it.orphans && row.sequence) candidates.insert(*row.sequence);
  }
  const auto is_wanted = [&](std::int32_t sequence) {
    return std::find(it.wanted.begin(), it.wanted.end(), sequence) != it.wanted.end();
  };
  std::vector<std::int32_t> out;
  for (const std::int32_t sequence : candidates) {
    const Owned& of = sequences[sequence];
    const bool is_owned = of.owner != 0 && of.leased_until > now;
    if (!is_owned || (of.owner == owner && is_wanted(sequence))) out.push_back(sequence);
  }
  if (out.empty()) {
    for (const std::int32_t sequence : it.wanted) {
      Owned& of = sequences[sequence];
      if (sequence > 0 && of.owner != owner && of.owner != 0) of.wanted_by = owner;
    }
  }
  for (const std::int32_t sequence : out) {
    sequences[sequence] = {owner, it.fence, now + it.lease, 0};
    trace.write("take", owner, sequence, it.fence, text_of(now + it.lease));
    for (auto& [id, row] : rows) {
      if (row.sequence != sequence || row.owner == 0) continue;
      row.owner = 0;
      row.fence = 0;
      if (row.lane) row.due = now;
    }
  }
  return out;
}

std::vector<inbox::Lane> SimulatedDatabase::lanes_of(const ReadLanes& it) const {
  std::map<std::int64_t, inbox::Lane> out;
  for (const auto& [id, row] : rows) {
    if (row.sequence == it.sequence && row.lane) out[*row.lane] = {it.sequence, *row.lane, true, false};
  }
  for (const auto& [place, letter] : dead) {
    if (!letter.parks || letter.row.sequence != it.sequence) continue;
    out.try_emplace(*letter.row.lane, inbox::Lane{it.sequence, *letter.row.lane, true, false}).first->second.is_parked =
        true;
  }
  std::vector<inbox::Lane> lanes;
  for (const auto& [lane, each] : out) {
    if (lane > it.after) lanes.push_back(each);
  }
  return lanes;
}

/// The rows of a lane, or of a sequence's log.
std::vector<std::int64_t> SimulatedDatabase::in_order(std::int32_t sequence, std::optional<std::int64_t> lane) const {
  std::vector<std::int64_t> out;
  for (const auto& [id, row] : rows) {
    if (row.sequence == sequence && row.lane == lane) out.push_back(id);
  }
  const auto place = [&](std::int64_t id) {
    const Row& row = rows.at(id);
    return std::tuple{row.ordinal, row.shard, *row.pending.begin()};
  };
  std::sort(out.begin(), out.end(), [&](auto a, auto b) { return place(a) < place(b); });
  return out;
}

dispatcher::Claim::Result SimulatedDatabase::claim(int owner, const inbox::ClaimRequest& it, Instant now) {
  std::vector<std::pair<Instant, std::int64_t>> due;
  for (const auto& [id, row] : rows) {
    const bool is_due = row.due <= now && microseconds(row.due) >= it.not_before.value_or(0);
    if (!row.sequence && is_due) due.emplace_back(row.due, id);
  }
  std::sort(due.begin(), due.end());
  dispatcher::Claim::Result out;
  std::int64_t left = it.events;
  for (const auto& [when, id] : due) {
    const bool is_suspect = rows[id].claims >= inbox::suspected_after;
    if (left <= 0 || out.claimed.rows_locked >= it.rows || (is_suspect && out.claimed.rows_locked > 0)) break;
    ++out.claimed.rows_locked;
    const auto share = std::min(share_of(rows[id]), left);
    out.found_crashed = out.found_crashed || rows[id].claims > 0;
    out.claimed.runs.push_back(lease(id, owner, it.fence, share, now + it.lease));
    left -= share;
    if (is_suspect) break;
  }
  return out;
}

inbox::ClaimedInOrder SimulatedDatabase::claim_in_order(int owner, const inbox::ClaimInOrderRequest& it, Instant now) {
  inbox::ClaimedInOrder out;
  const auto owns = [&](std::int32_t sequence) {
    return std::any_of(it.owned.begin(), it.owned.end(), [&](const auto& key) {
      const Owned& of = sequences[sequence];
      return key.sequence == sequence && of.owner == owner && (of.fence == key.fence || !guards.compares_fences);
    });
  };
  const auto& fence = it.claim.fence;
  std::int64_t total = it.claim.events;
  std::int64_t of_lanes = it.read.empty() ? total : (total + 1) / 2;
  std::vector<std::int64_t> first;
  for (const auto& [id, row] : rows) {
    if (row.lane && row.owner == 0 && row.due <= now && microseconds(row.due) >= it.claim.not_before.value_or(0) &&
        owns(*row.sequence) && in_order(*row.sequence, row.lane).front() == id) {
      first.push_back(id);
    }
  }
  std::optional<std::int64_t> suspect;
  for (const auto id : first) {
    if (rows[id].claims >= inbox::suspected_after) {
      suspect = suspect.value_or(id);
      continue;
    }
    if (of_lanes <= 0) break;
    const auto share = std::min(static_cast<std::int64_t>(rows[id].pending.size()), of_lanes);
    out.claimed.runs.push_back(lease(id, owner, fence, share, never));
    of_lanes -= share;
    total -= share;
  }
  for (const auto& read : it.read) {
    using State = inbox::SequenceRead::State;
    State state = owns(read.sequence) ? State::end : State::lost;
    std::int64_t left = total;
    int taken = 0;
    if (state == State::end && left <= 0) state = State::more;
    const auto all = state == State::end ? in_order(read.sequence, std::nullopt) : std::vector<std::int64_t>{};
    for (const auto id : all) {
      const Row row = rows[id];
      if (row.ordinal < read.start) continue;
      if (row.owner != 0) {
        if (std::pair{row.ordinal, *row.pending.begin()} <= std::pair{read.mark, read.mark_offset}) continue;
        state = State::leased;
        break;
      }
      const bool is_suspect = row.claims >= inbox::suspected_after;
      if (is_suspect && taken == 0) suspect = suspect.value_or(id);
      if (is_suspect || left <= 0 || taken >= it.claim.rows) {
        state = State::more;
        break;
      }
      const auto share = std::min(static_cast<std::int64_t>(row.pending.size()), left);
      out.claimed.runs.push_back(lease(id, owner, fence, share, never));
      left -= share;
      total -= share;
      ++taken;
      if (share == static_cast<std::int64_t>(row.pending.size())) continue;
      state = State::more;
      break;
    }
    const auto position = read_positions.find(read.sequence);
    out.sequences.push_back({read.sequence, state, 0, position == read_positions.end() ? -1 : position->second});
  }
  // Rows beyond the bytes are leased, and not read.
  while (it.claim.fence % 5 == 0 && out.claimed.runs.size() > 2) {
    out.claimed.excess.push_back(out.claimed.runs.back().key);
    out.claimed.runs.pop_back();
  }
  if (suspect) out.claimed.runs.push_back(lease(*suspect, owner, fence, share_of(rows[*suspect]), never));
  return out;
}

}  // namespace inboxd::test
