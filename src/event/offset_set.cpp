#include "event/offset_set.hpp"

#include <algorithm>
#include <charconv>

namespace inboxd::event {

void OffsetSet::add(OffsetRange range) {
  if (range.first >= range.end) return;
  if (ranges_.empty() || range.first > ranges_.back().end) {
    ranges_.push_back(range);
    return;
  }
  if (range.first >= ranges_.back().first) {
    ranges_.back().end = std::max(ranges_.back().end, range.end);
    return;
  }
  const auto touches = [&](const OffsetRange& other) { return other.end >= range.first; };
  const auto touching = std::find_if(ranges_.begin(), ranges_.end(), touches);
  auto after = touching;
  while (after != ranges_.end() && after->first <= range.end) {
    range.first = std::min(range.first, after->first);
    range.end = std::max(range.end, after->end);
    ++after;
  }
  ranges_.insert(ranges_.erase(touching, after), range);
}

void OffsetSet::remove(const OffsetSet& other) {
  std::vector<OffsetRange> left;
  auto cut = other.ranges_.begin();
  for (OffsetRange range : ranges_) {
    while (cut != other.ranges_.end() && cut->end <= range.first) ++cut;
    auto here = cut;
    while (here != other.ranges_.end() && here->first < range.end) {
      if (here->first > range.first) left.push_back({range.first, here->first});
      range.first = std::max(range.first, here->end);
      if (range.first >= range.end) break;
      ++here;
    }
    if (range.first < range.end) left.push_back(range);
  }
  ranges_ = std::move(left);
}

bool OffsetSet::contains(std::int64_t offset) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                      [](std::int64_t value, const OffsetRange& range) { return value < range.first; });
  return after != ranges_.begin() && offset < std::prev(after)->end;
}

std::int64_t OffsetSet::count() const {
  std::int64_t count = 0;
  for (const OffsetRange& range : ranges_) count += range.end - range.first;
  return count;
}

std::string OffsetSet::text() const {
  std::string out = "{";
  for (const OffsetRange& range : ranges_) {
    if (out.size() > 1) out += ',';
    out += '[' + std::to_string(range.first) + ',' + std::to_string(range.end) + ')';
  }
  return out + '}';
}

std::optional<OffsetSet> OffsetSet::parse(std::string_view text) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
  OffsetSet out;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  const auto take = [&](char c) { return at < end && *at == c ? (++at, true) : false; };
  const auto number = [&](std::int64_t& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc{};
  };
  while (at < end) {
    OffsetRange range;
    if (!take('[') || !number(range.first) || !take(',') || !number(range.end) || !take(')')) return std::nullopt;
    if (range.first >= range.end) return std::nullopt;
    if (at < end && (!take(',') || at == end)) return std::nullopt;
    out.add(range);
  }
  return out;
}

}  // namespace inboxd::event
