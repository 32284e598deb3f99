#include "event/offset_set.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>

using namespace inboxd::event;

namespace {

OffsetSet set_of(std::initializer_list<OffsetRange> ranges) {
  OffsetSet out;
  for (const OffsetRange& range : ranges) out.add(range);
  return out;
}

}  // namespace

TEST_CASE("ranges that touch or overlap become a single range") {
  CHECK(set_of({{1, 3}, {3, 5}}).text() == "{[1,5)}");
  CHECK(set_of({{3, 5}, {1, 3}}).text() == "{[1,5)}");
  CHECK(set_of({{1, 3}, {4, 5}, {3, 4}}).text() == "{[1,5)}");
  CHECK(set_of({{1, 10}, {2, 3}}).text() == "{[1,10)}");
  CHECK(set_of({{5, 6}, {1, 2}, {3, 4}}).text() == "{[1,2),[3,4),[5,6)}");
  CHECK(set_of({{1, 2}, {5, 6}, {9, 10}, {0, 20}}).text() == "{[0,20)}");
  CHECK(set_of({{3, 3}, {4, 1}}).empty());
}

TEST_CASE("offsets are removed from the middle, from the ends and across ranges") {
  OffsetSet set = set_of({{0, 10}, {20, 30}});
  set.remove(set_of({{3, 5}, {8, 22}, {29, 40}}));
  CHECK(set.text() == "{[0,3),[5,8),[22,29)}");
  set.remove(set);
  CHECK(set.empty());
  set.remove(set_of({{1, 2}}));
  CHECK(set.text() == "{}");
}

TEST_CASE("a set of offsets behaves like a set of numbers") {
  std::mt19937 random{Catch::getSeed()};
  for (int round = 0; round < 300; ++round) {
    OffsetSet set;
    std::set<std::int64_t> model;
    for (int step = 0; step < 30; ++step) {
      const std::int64_t first = static_cast<std::int64_t>(random() % 60);
      const std::int64_t end = first + static_cast<std::int64_t>(random() % 8);
      const OffsetSet part{OffsetRange{first, end}};
      const bool add = random() % 3 != 0;
      if (add)
        set.add(OffsetRange{first, end});
      else
        set.remove(part);
      for (std::int64_t i = first; i < end; ++i) {
        if (add)
          model.insert(i);
        else
          model.erase(i);
      }
    }
    REQUIRE(set.count() == static_cast<std::int64_t>(model.size()));
    for (std::int64_t i = -1; i < 70; ++i) REQUIRE(set.contains(i) == model.contains(i));
    for (std::size_t i = 1; i < set.ranges().size(); ++i) REQUIRE(set.ranges()[i - 1].end < set.ranges()[i].first);
    REQUIRE(OffsetSet::parse(set.text()) == set);
  }
}

TEST_CASE("PostgreSQL's text is read back, and no other text") {
  CHECK(OffsetSet::parse("{}") == OffsetSet{});
  CHECK(OffsetSet::parse("{[1,5),[7,9)}") == set_of({{1, 5}, {7, 9}}));
  CHECK(OffsetSet::parse("{[-5,9223372036854775807)}") == set_of({{-5, 9223372036854775807}}));
  for (const std::string_view text : {"",         "{",        "}",
                                      "[1,5)",    "{[1,5)",   "[1,5)}",
                                      "{[1,5),}", "{,[1,5)}", "{[1,5)[7,9)}",
                                      "{[1,5]}",  "{(1,5)}",  "{[1,5),[7,9),}",
                                      "{[1 ,5)}", "{[,5)}",   "{[1,)}",
                                      "{[5,5)}",  "{[5,1)}",  "{[1,9223372036854775808)}",
                                      "{[1,5)} ", "{[a,b)}",  "{[1,5),[7,9}"}) {
    INFO(text);
    CHECK_FALSE(OffsetSet::parse(text));
  }
}
