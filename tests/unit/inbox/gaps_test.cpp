#include "inbox/gaps.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace inboxd;
using inbox::Gaps;
using Ranges = std::vector<inbox::IdRange>;
using namespace std::chrono_literals;

namespace {

const Gaps::Clock::time_point start{};

}  // namespace

TEST_CASE("ids that were passed are probed until they are found") {
  Gaps gaps;
  CHECK(gaps.to_probe(start).empty());
  CHECK(gaps.note_read({3, 4, 8}, 0, true, start, 1ms) == 8);
  CHECK(gaps.to_probe(start) == Ranges{{1, 2}, {5, 7}});
  CHECK(gaps.note_read({6, 9}, 8, true, start, 1ms) == 9);
  CHECK(gaps.to_probe(start) == Ranges{{1, 2}, {5, 5}, {7, 7}});
  CHECK(gaps.lowest(10) == 1);
}

TEST_CASE("a gap ends with a read that began after all transactions which may fill it") {
  Gaps gaps;
  gaps.note_read({2}, 0, true, start, 1ms);
  gaps.note_transaction(100, 90);  // it began after the read that found the gap
  gaps.note_transaction(101, 99);  // an older transaction still runs
  gaps.to_probe(start);
  gaps.note_read({}, 2, true, start, 1ms);
  CHECK(gaps.size() == 1);
  gaps.note_transaction(102, 100);
  CHECK(gaps.size() == 1);  // until it was probed once more
  gaps.to_probe(start);
  gaps.note_read({}, 2, true, start, 1ms);
  CHECK(gaps.size() == 0);
  CHECK(gaps.lowest(3) == 3);
}

TEST_CASE("old gaps are probed rarely, and their number is limited") {
  Gaps gaps;
  gaps.note_read({2}, 0, true, start, 1ms);
  CHECK(gaps.to_probe(start + 2s).size() == 1);
  gaps.note_read({}, 2, true, start + 2s, 500ms);
  CHECK(gaps.to_probe(start + 4s).empty());
  CHECK(gaps.to_probe(start + 8s).size() == 1);
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 4; ids.size() < 2 * Gaps::most; id += 2) ids.push_back(id);
  gaps.note_read(ids, 2, true, start + 8s, 1ms);
  CHECK(gaps.size() == Gaps::most);
  CHECK(gaps.lowest(0) == 1);
}

TEST_CASE("an old gap is probed before newer messages are sent if a transaction that may fill it has ended") {
  Gaps gaps;
  gaps.note_read({2}, 0, true, start, 1ms);
  gaps.note_transaction(100, 90);
  gaps.to_probe(start + 2s);
  gaps.note_read({}, 2, true, start + 2s, 1ms);
  CHECK(gaps.to_probe(start + 2s + 10ms).empty());
  REQUIRE(gaps.has_unprobed());
  CHECK(gaps.before() == 100);
  CHECK(gaps.note_running({90, 95}) == Ranges{{1, 1}});  // perhaps a transaction ended before it was watched
  CHECK(gaps.note_running({90, 95}).empty());
  CHECK(gaps.note_running({90}) == Ranges{{1, 1}});
  gaps.probe_again();
  CHECK(gaps.note_running({90}) == Ranges{{1, 1}});
  CHECK(gaps.note_running({90}).empty());
}
