#include "inbox/ledger_filters.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace inboxd::inbox {
namespace {

/// Filters that are put side by side. Of 128 filters a question takes 13 ns so, 18 with four of them, 50 if each is
/// asked alone.
constexpr std::size_t side_by_side = 8;
/// With fewer filters, the memory of dropped ones would be too large a share.
constexpr std::size_t many_filters = 64;

/// Calls `found(filter_key, i)` for each filter that may have `ids[i]`.
template <class Places, class Found>
void ask_all(const Places& places, const std::vector<base::Uuid>& ids, Found found) {
  std::map<const IdFilter*, std::map<std::size_t, std::int64_t>> keys_of;  // of the lanes in use
  for (const auto& [key, place] : places) keys_of[place.filter.get()].emplace(place.lane, key);
  std::map<std::int64_t, std::vector<HashedId>> hashed_with;
  for (const auto& [filter, keys] : keys_of) {
    auto& asked = hashed_with[filter->key()];
    if (asked.empty()) asked = hashed(filter->key(), ids);
    filter->ask(asked, [&](std::size_t lane, std::size_t i) {
      const auto key = keys.find(lane);
      if (key != keys.end()) found(key->second, i);
    });
  }
}

}  // namespace

LedgerFilters::Places LedgerFilters::places() const {
  const base::Lock lock{mutex_};
  return places_;
}

bool LedgerFilters::has(std::int64_t filter_key) const {
  const base::Lock lock{mutex_};
  return places_.contains(filter_key);
}

void LedgerFilters::put(std::int64_t filter_key, std::shared_ptr<const IdFilter> filter) {
  {
    const base::Lock lock{mutex_};
    places_[filter_key] = {std::move(filter), 0};
  }
  join_alike();
}

/// Keys of filters that can be put side by side; none: too few are of one size.
std::vector<std::int64_t> LedgerFilters::alike() const {
  const base::Lock lock{mutex_};
  if (places_.size() < many_filters) return {};
  std::map<std::pair<std::int64_t, std::size_t>, std::vector<std::int64_t>> by_size;
  for (const auto& [key, place] : places_) {
    if (place.filter->lanes() > 1) continue;
    auto& keys = by_size[{place.filter->key(), place.filter->bytes()}];
    keys.push_back(key);
    if (keys.size() == side_by_side) return keys;
  }
  return {};
}

void LedgerFilters::join_alike() {
  for (auto keys = alike(); !keys.empty(); keys = alike()) {
    std::vector<std::shared_ptr<const IdFilter>> filters;
    const Places before = places();
    for (const auto key : keys) filters.push_back(before.at(key).filter);
    const auto joined = std::make_shared<const IdFilter>(filters);
    const base::Lock lock{mutex_};
    for (std::size_t lane = 0; lane < keys.size(); ++lane) places_[keys[lane]] = {joined, lane};
  }
}

void LedgerFilters::keep(const std::vector<std::int64_t>& filter_keys) {
  const base::Lock lock{mutex_};
  std::erase_if(places_, [&](const auto& entry) {
    return std::find(filter_keys.begin(), filter_keys.end(), entry.first) == filter_keys.end();
  });
}

std::optional<std::int64_t> LedgerFilters::hash_key() const {
  const base::Lock lock{mutex_};
  return places_.empty() ? std::nullopt : std::optional{places_.begin()->second.filter->key()};
}

std::size_t LedgerFilters::bytes() const {
  std::set<std::shared_ptr<const IdFilter>> filters;
  for (const auto& [key, place] : places()) filters.insert(place.filter);
  std::size_t out = 0;
  for (const auto& filter : filters) out += filter->bytes();
  return out;
}

std::size_t LedgerFilters::count() const {
  const base::Lock lock{mutex_};
  return places_.size();
}

std::vector<Suspect> LedgerFilters::suspects(const std::vector<FrozenGeneration>& frozen,
                                             const std::vector<event::Event>& events) const {
  std::vector<Suspect> out;
  if (frozen.empty()) return out;
  std::vector<base::Uuid> ids;
  std::ranges::transform(events, std::back_inserter(ids), &event::Event::event_id);
  Places asked = places();
  std::map<std::int64_t, std::int32_t> generation_of;
  for (const FrozenGeneration& one : frozen) {
    generation_of.emplace(one.filter_key, one.generation);
    if (asked.contains(one.filter_key)) continue;
    for (const base::Uuid& id : ids) out.push_back({one.generation, id});
  }
  std::erase_if(asked, [&](const auto& entry) { return !generation_of.contains(entry.first); });
  ask_all(asked, ids, [&](std::int64_t key, std::size_t i) { out.push_back({generation_of.at(key), ids[i]}); });
  return out;
}

FilterAnswers LedgerFilters::ask(const std::vector<base::Uuid>& ids) const {
  FilterAnswers out;
  const Places asked = places();
  for (const auto& [key, place] : asked) out.filter_keys.push_back(key);
  ask_all(asked, ids, [&](std::int64_t key, std::size_t i) { out.suspects.push_back({key, ids[i]}); });
  return out;
}

}  // namespace inboxd::inbox
