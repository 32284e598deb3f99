#include "queue/sequences.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace inboxd::dispatcher {
namespace {

using std::chrono::milliseconds;

/// For sequences without an owner, after the start.
constexpr milliseconds first_search{3'000};
/// Between two such searches: the keys of a crashed owner wait for it.
constexpr milliseconds search_interval{700};
/// All handlers together search at most this often.
constexpr milliseconds search_pause{20};
/// Between two readings from the start, for rows stored out of order.
constexpr milliseconds sweep_interval{10'000};
/// Readings that met a lease of unknown events, before the sequence is taken again.
constexpr int max_strange_leases = 5;

}  // namespace

bool Sequences::is_allowed(State from, State to) {
  switch (to) {
    case State::taken:
      return false;
    case State::reading:
      return from == State::taken || from == State::caught_up;
    case State::caught_up:
      return from == State::reading;
    case State::draining:
      return from != State::draining;
  }
  return false;
}

void Sequences::change(Sequence& sequence, State to) {
  assert(is_allowed(sequence.state, to));
  sequence.state = to;
}

// ---- ownership

void Sequences::revoked(std::int32_t shard_id) {
  assigned_.erase(shard_id);
  drain(shard_id);
}

void Sequences::use(Scope scope) {
  if (std::exchange(scope_, scope) != scope) drain_all();
}

std::vector<std::int32_t> Sequences::wanted() const {
  std::vector<std::int32_t> out;
  if (scope_ == Scope::handler && !owned_.contains(inbox::whole_handler)) out.push_back(inbox::whole_handler);
  if (scope_ != Scope::shard) return out;
  for (const std::int32_t shard : assigned_) {
    if (!owned_.contains(shard)) out.push_back(shard);
  }
  return out;
}

bool Sequences::looks_for_orphans(Clock::time_point now, int handlers) {
  if (now < next_search_) return false;
  // The first search waits, too: the instances that have the partitions come first.
  const bool is_first = next_search_ == Clock::time_point{};
  next_search_ = now + (is_first ? first_search : std::max(search_interval, handlers * search_pause));
  return !is_first;
}

void Sequences::took(const std::vector<std::int32_t>& sequences, std::int64_t fence, Clock::time_point lease_end) {
  for (const std::int32_t number : sequences) {
    // A sequence that is owned already was taken as an orphan, again: its leases in the database have lost their owner.
    if (const auto at = owned_.find(number); at != owned_.end()) {
      at->second.changed_fence = fence;
      drain(number);
      continue;
    }
    Sequence sequence;
    sequence.fence = fence;
    sequence.lease_end = lease_end;
    owned_.emplace(number, sequence);
  }
}

std::vector<inbox::SequenceKey> Sequences::owned() const {
  std::vector<inbox::SequenceKey> out;
  out.reserve(owned_.size());
  for (const auto& [number, sequence] : owned_) out.push_back({number, sequence.fence});
  return out;
}

std::vector<inbox::SequenceKey> Sequences::with_lanes() const {
  std::vector<inbox::SequenceKey> out;
  for (const auto& [number, sequence] : owned_) {
    if (may_run(number)) out.push_back({number, sequence.fence});
  }
  return out;
}

void Sequences::renewed(const std::vector<inbox::SequenceKey>& asked,
                        const std::vector<inbox::RenewedSequence>& renewed, Clock::time_point lease_end) {
  for (const inbox::SequenceKey& key : asked) {
    const auto at = owned_.find(key.sequence);
    if (at == owned_.end() || at->second.fence != key.fence) continue;
    const auto found =
        std::find_if(renewed.begin(), renewed.end(), [&](const auto& each) { return each.sequence == key.sequence; });
    if (found == renewed.end()) {
      drain(key.sequence);
      continue;
    }
    at->second.lease_end = std::max(at->second.lease_end, lease_end);
    const bool must_go = found->is_wanted && scope_ != Scope::handler && !assigned_.contains(key.sequence);
    if (found->other_fence) at->second.changed_fence = found->other_fence;
    if (must_go || found->other_fence) drain(key.sequence);
  }
}

Sequences::Clock::time_point Sequences::lease_end(std::int32_t sequence) const {
  const auto at = owned_.find(sequence);
  return at == owned_.end() ? Clock::time_point{} : at->second.lease_end;
}

void Sequences::drain(std::int32_t sequence) {
  const auto at = owned_.find(sequence);
  if (at == owned_.end() || at->second.state == State::draining) return;
  change(at->second, State::draining);
  begun_drains_.push_back(sequence);
}

void Sequences::drain_all() {
  for (const auto& entry : owned_) drain(entry.first);
}

void Sequences::drain_overdue(Clock::time_point now) {
  for (const auto& [number, sequence] : owned_) {
    if (sequence.lease_end <= now) drain(number);
  }
}

std::vector<std::int32_t> Sequences::take_begun_drains() { return std::exchange(begun_drains_, {}); }

std::vector<inbox::SequenceKey> Sequences::take_drained() {
  std::vector<inbox::SequenceKey> out;
  for (auto at = owned_.begin(); at != owned_.end();) {
    const Sequence& sequence = at->second;
    if (sequence.state != State::draining || sequence.runs > 0 || sequence.reserving > 0) {
      ++at;
      continue;
    }
    out.push_back({at->first, sequence.changed_fence.value_or(sequence.fence)});
    at = owned_.erase(at);
  }
  return out;
}

// ---- reading

std::optional<Sequences::LanesFrom> Sequences::lanes_to_read() const {
  for (const auto& [number, sequence] : owned_) {
    if (sequence.state == State::taken) return LanesFrom{number, sequence.lanes_after};
  }
  return std::nullopt;
}

void Sequences::lanes_read(std::int32_t sequence, std::int64_t last, bool is_complete) {
  const auto at = owned_.find(sequence);
  if (at == owned_.end() || at->second.state != State::taken) return;
  at->second.lanes_after = last;
  if (is_complete) change(at->second, State::reading);
}

bool Sequences::may_read(const Sequence& sequence) {
  return (sequence.state == State::reading || sequence.state == State::caught_up) && sequence.suspects.empty();
}

bool Sequences::is_drained(std::int32_t sequence) const {
  const auto at = owned_.find(sequence);
  return at != owned_.end() && at->second.state == State::draining && at->second.runs == 0;
}

bool Sequences::may_run(std::int32_t sequence) const {
  const auto at = owned_.find(sequence);
  return at != owned_.end() && (at->second.state == State::reading || at->second.state == State::caught_up);
}

bool Sequences::is_alone(std::int32_t sequence) const {
  const auto at = owned_.find(sequence);
  return at != owned_.end() && !at->second.suspects.empty();
}

bool Sequences::any_caught_up() const {
  return std::any_of(owned_.begin(), owned_.end(),
                     [](const auto& each) { return each.second.state == State::caught_up; });
}

std::int64_t Sequences::fence(std::int32_t sequence) const {
  const auto at = owned_.find(sequence);
  return at == owned_.end() ? 0 : at->second.fence;
}

void Sequences::sweep() {
  for (auto& entry : owned_) entry.second.next_sweep = {};
}

bool Sequences::any_to_read(Clock::time_point now) const {
  return std::any_of(owned_.begin(), owned_.end(), [&](const auto& entry) {
    const Sequence& sequence = entry.second;
    return may_read(sequence) && (sequence.state == State::reading || now >= sequence.next_sweep);
  });
}

std::vector<inbox::SequenceToRead> Sequences::to_read(Clock::time_point now) {
  std::vector<inbox::SequenceToRead> out;
  for (auto& [number, sequence] : owned_) {
    if (!may_read(sequence)) continue;
    const bool sweeps = now >= sequence.next_sweep;
    if (sweeps) sequence.next_sweep = now + sweep_interval;
    if (!sweeps && sequence.state == State::caught_up) continue;
    // Several ingest transactions store for a whole handler at once: an earlier transaction may show after a later
    // transaction.
    const bool is_whole = number == inbox::whole_handler;
    out.push_back({number, sweeps || is_whole ? -1 : sequence.mark, sequence.mark, sequence.mark_offset});
  }
  // A claim may end before the last of them: each is the first in turn.
  if (!out.empty()) {
    turn_ = (turn_ + 1) % out.size();
    std::rotate(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(turn_), out.end());
  }
  return out;
}

void Sequences::claimed(const inbox::LeasedRun& run) {
  const auto at = owned_.find(*run.sequence);
  if (at == owned_.end()) return;
  Sequence& sequence = at->second;
  ++sequence.runs;
  if (run.lane) return;
  const std::int64_t offset = run.pending.ranges().back().end - 1;
  if (std::pair{run.ordinal, offset} > std::pair{sequence.mark, sequence.mark_offset}) {
    sequence.mark = run.ordinal;
    sequence.mark_offset = offset;
  }
  if (inbox::is_suspect(run)) sequence.suspects.insert(run.key.delivery_id);
}

bool Sequences::run_left(std::int32_t sequence, std::int64_t delivery_id) {
  const auto at = owned_.find(sequence);
  if (at == owned_.end()) return false;
  if (at->second.runs > 0) --at->second.runs;
  return at->second.suspects.erase(delivery_id) > 0 && at->second.suspects.empty();
}

void Sequences::read(const inbox::SequenceRead& read) {
  const auto at = owned_.find(read.sequence);
  if (at == owned_.end() || at->second.state == State::draining) return;
  Sequence& sequence = at->second;
  using inbox::SequenceRead;
  if (read.state != SequenceRead::State::leased) sequence.strange_leases = 0;
  switch (read.state) {
    case SequenceRead::State::lost:
      drain(read.sequence);
      break;
    case SequenceRead::State::leased:
      // A batch that is stored, but not handed over yet, looks the same.
      if (sequence.reserving > 0) {
        sequence.strange_leases = 0;
      } else if (++sequence.strange_leases >= max_strange_leases) {
        drain(read.sequence);
      }
      break;
    case SequenceRead::State::end:
      // Of a partition that another instance has, new deliveries come at any time.
      if (sequence.state != State::reading || !sequence.suspects.empty() || !assigned_.contains(read.sequence)) break;
      // A batch that this reading did not see leaves another position.
      if (read.next_offset < 0) break;
      sequence.taken_to = {read.epoch, read.next_offset};
      change(sequence, State::caught_up);
      break;
    case SequenceRead::State::more:
    case SequenceRead::State::waits:
    case SequenceRead::State::ended:
      if (sequence.state == State::caught_up) change(sequence, State::reading);
      break;
  }
}

// ---- ingest

bool Sequences::has_all_before(std::int32_t sequence, LogPosition expected) const {
  const auto at = owned_.find(sequence);
  if (at == owned_.end()) return false;
  const Sequence& mine = at->second;
  return mine.state == State::caught_up && mine.taken_to == expected && mine.suspects.empty();
}

std::optional<Sequences::Reservation> Sequences::reserve(std::int32_t sequence, LogPosition expected) {
  const auto at = owned_.find(sequence);
  if (at == owned_.end()) return std::nullopt;
  ++at->second.reserving;
  return Reservation{has_all_before(sequence, expected), at->second.fence};
}

void Sequences::end_reservation(std::int32_t sequence, LogPosition expected, LogPosition next, bool is_in_memory) {
  const auto at = owned_.find(sequence);
  if (at == owned_.end()) return;
  Sequence& mine = at->second;
  if (mine.reserving > 0) --mine.reserving;
  if (mine.state != State::caught_up) return;
  LogPosition& to = mine.taken_to;
  if (is_in_memory && to == expected) {
    to = next;
  } else if (to.epoch != next.epoch || to.next_offset < next.next_offset) {  // else a reading has seen the batch
    change(mine, State::reading);
  }
}

}  // namespace inboxd::dispatcher
