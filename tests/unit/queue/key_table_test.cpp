#include "queue/key_table.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <random>

namespace inboxd::dispatcher {

TEST_CASE("a table of keys has the same values as a map, through any inserts and erases") {
  const auto seed = Catch::getSeed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  KeyTable<int> table;
  std::map<std::uint64_t, int> map;
  // Keys that share their place, at the end of the table too, and random ones.
  const auto key = [&] {
    const std::uint64_t bits = random();
    return bits % 3 == 0 ? 1'020 + bits % 8 + 1'024 * (bits % 5) : bits % 4'000 + 1;
  };
  for (int i = 0; i < 100'000; ++i) {
    const auto at = key();
    if (random() % 5 < (map.size() > 1'500 ? 1U : 3U)) {
      const auto [value, is_new] = table.insert(at);
      REQUIRE(is_new == !map.contains(at));
      *value = map[at] = i;
    } else {
      table.erase(at);
      map.erase(at);
    }
    REQUIRE(table.size() == map.size());
    const auto other = key();
    const int* const found = table.find(other);
    const auto wanted = map.find(other);
    REQUIRE((found != nullptr) == (wanted != map.end()));
    if (found != nullptr) REQUIRE(*found == wanted->second);
  }
  CHECK(table.keys_if([](int) { return true; }).size() == map.size());
}

}  // namespace inboxd::dispatcher
