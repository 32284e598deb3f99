// Filters of many generations, in memory.
#include "inbox/ledger_filters.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <vector>

using namespace inboxd;
using inbox::IdFilter;

namespace {

constexpr std::int64_t ids_of_each = 200;

/// Generations with their ids; filter keys from 101 on.
struct Generations {
  explicit Generations(int count, std::int64_t hash_key = 7) {
    for (int i = 0; i < count; ++i) add(hash_key, ids_of_each);
  }
  void add(std::int64_t hash_key, std::int64_t size) {
    const auto number = static_cast<std::int32_t>(frozen.size() + 1);
    auto filter = std::make_shared<IdFilter>(hash_key, size);
    auto& its = ids.emplace_back();
    for (int i = 0; i < ids_of_each; ++i) filter->add(its.emplace_back(base::random_uuid()));
    frozen.push_back({number, 100 + number});
    filters.put(100 + number, std::move(filter));
  }
  /// Each id of a generation is a suspect of that generation.
  bool knows(std::size_t generation) const {
    std::vector<event::Event> events(ids[generation].size());
    for (std::size_t i = 0; i < events.size(); ++i) events[i].event_id = ids[generation][i];
    std::set<base::Uuid> found;
    for (const auto& suspect : filters.suspects(frozen, events)) {
      if (suspect.generation == frozen[generation].generation) found.insert(suspect.event_id);
    }
    return found.size() == events.size();
  }

  inbox::LedgerFilters filters;
  std::vector<inbox::FrozenGeneration> frozen;
  std::vector<std::vector<base::Uuid>> ids;
};

}  // namespace

TEST_CASE("each of many generations knows its ids, whichever filters are beside its own") {
  Generations all{75};
  for (int i = 0; i < 6; ++i) all.add(8, ids_of_each);         // with another key
  for (int i = 0; i < 6; ++i) all.add(7, 10 * ids_of_each);    // of another size
  CHECK(all.filters.count() == 87);
  for (std::size_t i = 0; i < all.ids.size(); ++i) CHECK(all.knows(i));
  const std::size_t each = IdFilter::bytes_for(ids_of_each);
  CHECK(all.filters.bytes() == 81 * each + 6 * IdFilter::bytes_for(10 * ids_of_each));
}

TEST_CASE("few strange ids are suspects of a generation, of many as of few") {
  Generations all{70};
  std::vector<event::Event> events(1'000);
  for (auto& event : events) event.event_id = base::random_uuid();
  CHECK(all.filters.suspects(all.frozen, events).size() < 100);
}

TEST_CASE("a dropped filter is not asked, and its memory is free once its neighbours are dropped") {
  Generations all{70};
  const std::size_t before = all.filters.bytes();
  std::vector<std::int64_t> kept;
  for (std::size_t i = 1; i < all.frozen.size(); ++i) kept.push_back(all.frozen[i].filter_key);
  all.filters.keep(kept);
  CHECK_FALSE(all.filters.has(all.frozen[0].filter_key));
  CHECK(all.filters.ask(all.ids[0]).filter_keys == kept);
  for (const auto& suspect : all.filters.ask(all.ids[0]).suspects) CHECK(suspect.filter_key != 101);
  CHECK(all.knows(0));  // without a filter: each id is looked up
  CHECK(all.knows(1));
  all.filters.keep({kept.back()});
  CHECK(all.filters.bytes() <= before / 8);
  all.filters.keep({});
  CHECK(all.filters.bytes() == 0);
  CHECK_FALSE(all.filters.hash_key());
}

TEST_CASE("a generation whose filter is of another freeze is looked up") {
  Generations all{2};
  all.frozen[1].filter_key = 999;
  CHECK(all.knows(1));
}
