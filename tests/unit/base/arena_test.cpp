#include "base/arena.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <utility>
#include <vector>

using inboxd::base::Arena;

TEST_CASE("copies keep their place while the arena grows") {
  Arena arena{64};
  std::vector<std::pair<std::string_view, std::string>> copies;
  for (int i = 0; i < 1000; ++i) {
    std::string text(static_cast<std::size_t>(i % 97), static_cast<char>('a' + i % 26));
    copies.emplace_back(arena.copy(text), text);
  }
  for (const auto& [view, text] : copies) CHECK(view == text);
}

TEST_CASE("a copy larger than a chunk gets a chunk of its own") {
  Arena arena{16};
  const std::string large(100'000, 'x');
  const std::string_view before = arena.copy("before");
  CHECK(arena.copy(large) == large);
  CHECK(arena.copy("after") == "after");
  CHECK(before == "before");
  CHECK(arena.used() == large.size() + 11);
}

TEST_CASE("the copy of an empty text is empty and not null") {
  Arena arena;
  CHECK(arena.copy("").empty());
  CHECK(arena.copy("").data() != nullptr);
  CHECK(arena.copy(std::string_view{}).data() != nullptr);
  CHECK(arena.used() == 0);
}
