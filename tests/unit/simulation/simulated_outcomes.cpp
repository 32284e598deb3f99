// SimulatedDatabase: outcomes, and changes by operators.
#include <algorithm>

#include "unit/simulation/simulated_database.hpp"

namespace inboxd::test {
namespace {

using Row = SimulatedDatabase::Row;
constexpr Instant never = Instant::max();

std::set<std::int64_t> offsets_of(const event::OffsetSet& from) {
  std::set<std::int64_t> out;
  for (const auto& range : from.ranges()) {
    for (auto offset = range.first; offset < range.end; ++offset) out.insert(offset);
  }
  return out;
}

std::set<std::int64_t> settled_by(const inbox::Settlement& it) {
  auto out = offsets_of(it.done);
  for (const auto& group : it.retries) out.merge(offsets_of(group.offsets));
  for (const auto& letter : it.dead) out.insert(letter.offset);
  for (const auto& lane : it.waiting) out.merge(offsets_of(lane.offsets));
  return out;
}

}  // namespace

bool SimulatedDatabase::is_parked(const Row& of, std::int64_t lane) const {
  return std::any_of(dead.begin(), dead.end(), [&](const auto& each) {
    return each.second.parks && each.second.row.sequence == of.sequence && each.second.row.lane == lane;
  });
}

void SimulatedDatabase::advance(std::int32_t sequence, std::int64_t lane, Instant now) {
  const auto all = in_order(sequence, lane);
  if (all.empty()) return;
  Row& first = rows[all.front()];
  if (first.owner != 0 || first.due != never) return;
  first.due = now;
  trace.write("due", all.front(), text_of(now));
}

std::optional<Place> SimulatedDatabase::earlier_of_key(const Place& place) const {
  if (order == "batch") return std::nullopt;
  for (const auto& [id, row] : rows) {
    if (!row.sequence || row.shard != place.first) continue;
    for (const auto offset : row.pending) {
      if (offset >= place.second) break;
      const Place earlier{row.shard, offset};
      const auto exempt = behind.find(earlier);
      const bool may_run = exempt != behind.end() && exempt->second.contains(place);
      if (key_of(earlier) != 0 && key_of(earlier) == key_of(place) && !may_run) return earlier;
    }
  }
  return std::nullopt;
}

void SimulatedDatabase::record(const Row& row, std::int64_t offset, bool is_done) {
  const Place place{row.shard, offset};
  const std::string text = std::to_string(place.first) + ":" + std::to_string(offset);
  if (++outcomes[place] > 1) violation = "a second outcome of " + text;
  if (row.sequence && is_done && key_of(place) != 0) done_in_order.push_back(place);
}

bool SimulatedDatabase::owns(int owner, const inbox::LeasedRun& run) const {
  return owns_row_and_sequence(owner, run) && rows.at(run.key.delivery_id).fence == run.key.fence;
}

bool SimulatedDatabase::owns_row_and_sequence(int owner, const inbox::LeasedRun& run) const {
  const auto at = rows.find(run.key.delivery_id);
  if (at == rows.end() || at->second.owner != owner) return false;
  const auto of = at->second.sequence ? sequences.find(*at->second.sequence) : sequences.end();
  return !at->second.sequence || (of != sequences.end() && of->second.owner == owner);
}

bool SimulatedDatabase::may_settle(int owner, const inbox::Settlement& it) const {
  const auto at = rows.find(it.key.delivery_id);
  if (at == rows.end()) return false;
  const Row& row = at->second;
  const auto of = row.sequence ? sequences.find(*row.sequence) : sequences.end();
  const bool owns_sequence = !row.sequence || (of != sequences.end() && of->second.owner == owner);
  const bool is_mine = row.owner == owner && row.fence == it.key.fence && owns_sequence;
  const auto settled = settled_by(it);
  const bool has_all = std::includes(row.pending.begin(), row.pending.end(), settled.begin(), settled.end());
  return (is_mine || !guards.compares_fences) && has_all;
}

std::vector<inbox::LeaseKey> SimulatedDatabase::settle(int owner, const std::vector<inbox::Settlement>& all,
                                                       Instant now) {
  trace.write("now", text_of(now));
  std::vector<inbox::LeaseKey> lost;
  for (const auto& each : all) {
    if (may_settle(owner, each)) continue;
    lost.push_back(each.key);
    trace.write("lost", owner, each.key.delivery_id, each.key.fence, text_of(settled_by(each)));
  }
  if (!lost.empty()) return lost;
  for (const auto& each : all) {
    std::set<std::int64_t> dead_now;
    for (const auto& letter : each.dead) dead_now.insert(letter.offset);
    trace.write("settle", owner, each.key.delivery_id, each.key.fence, text_of(offsets_of(each.done)),
                text_of(dead_now), text_of(settled_by(each)));
    settle(each, now);
  }
  trace.write("commit", owner);
  for (const Place& place : std::exchange(done_in_order, {})) {
    const auto earlier = earlier_of_key(place);
    if (earlier) violation = "an outcome before that of " + std::to_string(earlier->second);
  }
  return {};
}

void SimulatedDatabase::settle(const inbox::Settlement& it, Instant now) {
  const auto at = rows.find(it.key.delivery_id);
  const auto settled = settled_by(it);
  const Row row = at->second;
  std::set<std::int64_t> lanes;
  if (row.lane) lanes.insert(*row.lane);
  const auto add = [&](std::set<std::int64_t> pending, std::optional<std::int64_t> lane, std::int32_t attempts,
                       Instant due) {
    const bool keeps_sequence = lane || order == "batch";
    Row added{row.shard,   keeps_sequence ? row.sequence : std::nullopt,
              lane ? row.ordinal : next_id, lane, std::move(pending), attempts};
    added.received = row.received;
    added.due = due;
    added.was_deferred = attempts == row.attempts && due != never;
    rows[next_id] = added;
    trace_row(next_id++);
  };
  const auto wait = [&](std::set<std::int64_t> pending, std::int64_t lane) {
    add(std::move(pending), lane, 0, never);
    lanes.insert(lane);
  };
  // In the order of the events: those of one key are in one transaction.
  for (const auto offset : settled) at->second.pending.erase(offset);
  for (const auto& group : it.retries) {
    const auto lane = group.key ? std::optional{group.key->lane} : std::nullopt;
    add(offsets_of(group.offsets), lane, row.attempts + (group.is_deferred ? 0 : 1), now + group.delay);
  }
  for (const auto& letter : it.dead) {
    using State = inbox::DeadEvent::State;
    if (letter.state == State::parked && !is_parked(row, letter.key->lane)) {
      wait({letter.offset}, letter.key->lane);
      continue;
    }
    Row of_event{row.shard, row.sequence, row.ordinal, {}, {letter.offset}};
    if (letter.key) of_event.lane = letter.key->lane;
    trace.write("dead", row.shard, letter.offset, letter.state == State::parked ? "parked" : "dead");
    dead[{row.shard, letter.offset}] = {of_event, letter.state == State::parks, letter.state == State::parked};
    if (letter.state != State::parked) record(row, letter.offset, false);
  }
  for (const auto& lane : it.waiting) wait(offsets_of(lane.offsets), lane.lane);
  for (const auto offset : offsets_of(it.done)) record(row, offset, true);
  if (rows[it.key.delivery_id].pending.empty()) rows.erase(it.key.delivery_id);
  for (const auto lane : lanes) {
    if (row.sequence) advance(*row.sequence, lane, now);
  }
}

// ---- operators

void SimulatedDatabase::replay(const Place& place, Instant now) {
  const auto letter = dead.at(place);
  std::vector<Place> back{place};
  for (const auto& [other, each] : dead) {
    const bool is_behind = letter.parks && each.is_parked && each.row.lane == letter.row.lane &&
                           each.row.sequence == letter.row.sequence;
    if (is_behind && other != place) back.push_back(other);
  }
  if (letter.is_parked) return;
  const bool in_lane = letter.row.lane && letter.row.sequence == sequence_of(place.first) && letter.row.sequence;
  std::set<Place> leased;
  for (const auto& [id, row] : rows) {
    if (row.owner == 0) continue;
    for (const auto offset : row.pending) leased.insert({row.shard, offset});
  }
  trace.write("now", text_of(now));
  trace.write("replay", place.first, place.second);
  if (in_lane) {
    for (const auto id : in_order(*letter.row.sequence, letter.row.lane)) {
      if (rows[id].owner != 0) trace.write("end_lease", id);
      if (rows[id].owner != 0) release(rows[id], now);
      rows[id].due = never;
      trace.write("wait", id);
    }
    if (sequences[*letter.row.sequence].owner != 0) sequences[*letter.row.sequence].fence = -++next_fence;
    trace.write("new_fence", *letter.row.sequence, sequences[*letter.row.sequence].fence);
  }
  for (const Place& each : back) {
    Row row = dead.at(each).row;
    if (!in_lane) row.lane = row.sequence = std::nullopt;
    if (order == "batch") row.sequence = inbox::whole_handler;
    if (!in_lane) row.ordinal = next_id;
    row.due = in_lane ? never : now;
    rows[next_id] = row;
    trace.write("back", each.first, each.second);
    trace_row(next_id++);
    if (!dead.at(each).is_parked) --outcomes[each];
    behind[each] = leased;
    dead.erase(each);
  }
  if (in_lane) advance(*letter.row.sequence, *letter.row.lane, now);
  trace.write("replayed");
}

/// Rows of a shard are cut where others lie between their offsets; then its places go to its rows by offset.
void SimulatedDatabase::order_by_offset() {
  std::map<std::int32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> shards;  // offsets, with their rows
  for (const auto& [id, row] : rows) {
    if (!row.sequence || row.lane) continue;
    for (const auto offset : row.pending) shards[row.shard].emplace_back(offset, id);
  }
  for (auto& [shard, events] : shards) {
    std::sort(events.begin(), events.end());
    std::vector<std::int64_t> in_order, places;
    std::set<std::int64_t> seen;
    for (std::size_t i = 0; i < events.size(); ++i) {
      const auto [offset, from] = events[i];
      const bool continues = i > 0 && events[i - 1].second == from;
      if (!continues) {
        const bool is_new = seen.insert(from).second;
        in_order.push_back(is_new ? from : next_id++);
        places.push_back(rows[from].ordinal);
        Row& row = rows[in_order.back()];
        if (!is_new) row = rows[from];
        row.pending.clear();
      }
      rows[in_order.back()].pending.insert(offset);
    }
    std::sort(places.begin(), places.end());
    for (std::size_t i = 0; i < in_order.size(); ++i) rows[in_order[i]].ordinal = places[i];
  }
}

void SimulatedDatabase::change_order(const std::string& to, Instant now) {
  order = to;
  ++version;
  sequences.clear();
  window = {};
  for (auto& [id, row] : rows) {
    if (!row.sequence && to != "batch") continue;
    const bool was_leased = row.owner != 0;
    row.sequence = sequence_of(row.shard);
    row.lane.reset();
    row.owner = 0;
    row.fence = 0;
    const bool keeps_due = !was_leased && row.due != never && order.find("sequential") == std::string::npos;
    if (!keeps_due) row.due = row.sequence ? never : now;
  }
  if (to != "single" && to != "batch") order_by_offset();
  for (auto& [place, letter] : dead) {
    if (!letter.row.lane) continue;
    letter.row.sequence = sequence_of(place.first);
    letter.row.lane.reset();
    letter.parks = false;
  }
  trace_order();
}

}  // namespace inboxd::test
