#include "inbox/gaps.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace inboxd::inbox {

std::vector<IdRange> Gaps::to_probe(Clock::time_point now) {
  probes_old_ = now >= next_old_;
  std::vector<IdRange> out;
  for (auto& [first, gap] : gaps_) {
    gap.is_probed = probes_old_ || now - gap.since < young_age;
    if (gap.is_probed) out.push_back({first, gap.last});
  }
  return out;
}

bool Gaps::has_unprobed() const {
  return std::any_of(gaps_.begin(), gaps_.end(), [](const auto& entry) { return !entry.second.is_probed; });
}

std::int64_t Gaps::before() const {
  std::int64_t out = 0;
  for (const auto& [first, gap] : gaps_) {
    if (!gap.is_probed) out = std::max(out, gap.before == 0 ? std::numeric_limits<std::int64_t>::max() : gap.before);
  }
  return out;
}

std::vector<IdRange> Gaps::note_running(std::set<std::int64_t> running) {
  const bool has_ended = !std::includes(running.begin(), running.end(), running_.begin(), running_.end());
  running_ = std::move(running);
  std::vector<IdRange> out;
  for (auto& [first, gap] : gaps_) {
    if (gap.is_probed) continue;
    const bool was_watched = std::exchange(gap.is_watched, true);
    if (has_ended || !was_watched) out.push_back({first, gap.last});
  }
  return out;
}

std::int64_t Gaps::note_read(const std::vector<std::int64_t>& ids, std::int64_t after, bool is_whole,
                             Clock::time_point now, Clock::duration took) {
  if (probes_old_) next_old_ = now + std::max<Clock::duration>(young_age, took * pause_factor);
  std::int64_t highest = after;
  bool cut_short = !is_whole;  // a read that reached its limit may have left messages in later gaps
  for (const std::int64_t id : ids) {
    if (id > after) continue;
    take_out(id);
    cut_short = true;
  }
  std::erase_if(gaps_, [&](const auto& entry) { return !cut_short && entry.second.is_probed && entry.second.is_over; });
  for (const std::int64_t id : ids) {
    if (id <= highest) continue;
    if (id > highest + 1) add(highest + 1, id - 1, now);
    highest = id;
  }
  return highest;
}

void Gaps::note_transaction(std::int64_t id, std::int64_t oldest) {
  for (auto& [first, gap] : gaps_) {
    if (gap.before == 0) {
      gap.before = id;
    } else if (gap.before <= oldest) {
      gap.is_over = true;
    }
  }
}

void Gaps::add(std::int64_t first, std::int64_t last, Clock::time_point now) {
  Gap gap;
  gap.last = last;
  gap.since = now;
  gaps_[first] = gap;
  if (gaps_.size() > most) merge_oldest();
}

/// The message with this id was found.
void Gaps::take_out(std::int64_t id) {
  auto at = gaps_.upper_bound(id);
  if (at == gaps_.begin()) return;
  at = std::prev(at);
  Gap gap = at->second;
  const std::int64_t first = at->first;
  if (id > gap.last) return;
  gaps_.erase(at);
  const std::int64_t last = gap.last;
  if (first < id) {
    gap.last = id - 1;
    gaps_[first] = gap;
  }
  if (id < last) {
    gap.last = last;
    gaps_[id + 1] = gap;
  }
}

/// Ids between the two were read; if they are still in flight, the reader passes over them.
void Gaps::merge_oldest() {
  const auto first = gaps_.begin();
  const auto second = std::next(first);
  first->second.last = second->second.last;
  first->second.before = first->second.before == 0 || second->second.before == 0
                             ? 0
                             : std::max(first->second.before, second->second.before);
  first->second.is_over = first->second.is_over && second->second.is_over;
  gaps_.erase(second);
}

}  // namespace inboxd::inbox
