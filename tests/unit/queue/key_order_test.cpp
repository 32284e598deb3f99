// Which event of an order key may run. tests/unit/simulation shows that the rules hold together.
#include "queue/key_order.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/queue/keyed_runs.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace test;
using Kind = settler::FailedEvent::Kind;
using Run = std::shared_ptr<settler::Run>;
using Offsets = std::vector<std::int64_t>;

constexpr envelope::KeyHash a = test::key_a, b = test::key_b;
const inbox::Lane lane_a{sequence_of_runs, a, true, false};

Offsets offsets_of(const std::vector<Pick>& picks) {
  Offsets out;
  for (const Pick& pick : picks) out.push_back(pick.run->lease.events[pick.index]->offset);
  return out;
}

/// The offsets that may be taken. The run's events from `first` on are for these calls.
Offsets take(KeyOrder& keys, const Run& run, const std::vector<KeyOrder::Call>& calls, std::size_t first = 0,
             bool in_transaction = false) {
  std::vector<Pick> out;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (keys.take({run, first + i}, calls[i], in_transaction)) out.push_back({run, first + i});
  }
  return offsets_of(out);
}

settler::KeyEffects finished(std::int64_t first, std::int64_t end) {
  settler::KeyEffects out;
  out.finished.add({first, end});
  return out;
}
using Indices = std::vector<std::size_t> settler::KeyEffects::*;
constexpr Indices blocking = &settler::KeyEffects::blocking, parking = &settler::KeyEffects::parking,
                  waiting = &settler::KeyEffects::waiting;
void settle(KeyOrder& keys, const Run& run, Indices as, std::size_t index) {
  settler::KeyEffects effects;
  (effects.*as).push_back(index);
  keys.settled(*run, effects);
}

/// The offsets that go behind now, all of that kind.
Offsets sent_behind(KeyOrder& keys, Kind kind = Kind::waits) {
  Offsets out;
  CHECK(keys.take_ready(10, 2'000'000).empty());
  for (const settler::Report& report : keys.take_behind()) {
    REQUIRE(report.failed.size() == 1);
    CHECK(report.failed[0].kind == kind);
    CHECK(report.failed[0].index == report.first);
    CHECK(report.end == report.first + 1);
    out.push_back(report.run->lease.events[report.first]->offset);
  }
  return out;
}

/// Asks the database for the blocked keys; of all of them it has this.
void check(KeyOrder& keys, bool has_events, bool is_parked = false) {
  auto lanes = keys.to_check(100, true);
  for (inbox::Lane& lane : lanes) lane = {lane.sequence, lane.lane, has_events, is_parked};
  keys.checked(lanes);
}

}  // namespace

TEST_CASE("events of a key run one after the other, each once the outcome of the one before is recorded") {
  KeyOrder keys;
  const Run run = run_of_keys(10, "aaa");
  CHECK(take(keys, run, {1, 2, 3}) == Offsets{10});
  CHECK(keys.deferred() == 2);
  CHECK(keys.take_ready(10, 4).empty());
  keys.settled(*run, finished(0, 1));
  REQUIRE(keys.any_ready());
  CHECK(offsets_of(keys.take_ready(1, 5)) == Offsets{11});
  CHECK_FALSE(keys.any_ready());
  keys.settled(*run, finished(1, 2));
  CHECK(offsets_of(keys.take_ready(1, 6)) == Offsets{12});
  CHECK(keys.deferred() == 0);
  keys.settled(*run, finished(2, 3));
  CHECK(take(keys, run_of_keys(13, "a", 2), {7}) == Offsets{13});
}

TEST_CASE("events of different keys or partitions, and those without a key, do not wait for each other") {
  KeyOrder keys;
  CHECK(take(keys, run_of_keys(10, "ab--"), {1, 2, 3, 4}) == Offsets{10, 11, 12, 13});
  CHECK(order_key(3, a) != order_key(4, a));
  CHECK(order_key(3, envelope::no_order_key) == 0);
}

TEST_CASE("events of one key share a call, but no event joins it behind a deferred one, or one that runs alone") {
  KeyOrder keys;
  const Run run = run_of_keys(10, "aaaaa");
  CHECK(take(keys, run, {1, 1, 2, 1}) == Offsets{10, 11});
  CHECK_FALSE(keys.take({run, 4, true}, 1));
  keys.settled(*run, finished(0, 1));
  CHECK_FALSE(keys.any_ready());
  keys.settled(*run, finished(1, 2));
  CHECK(offsets_of(keys.take_ready(10, 3)) == Offsets{12, 13});
  keys.settled(*run, finished(2, 4));
  CHECK(offsets_of(keys.take_ready(10, 4)) == Offsets{14});
}

TEST_CASE(
    "events go behind a failed one in order: those of a run together, after all events of their key before them") {
  KeyOrder keys;
  const Run first = run_of_keys(10, "aaab"), second = run_of_keys(14, "a", 2);
  CHECK(take(keys, first, {1, 1, 2, 2}) == Offsets{10, 11, 13});
  take(keys, second, {2});
  settle(keys, first, blocking, 0);
  CHECK(keys.blocked_keys() == 1);
  CHECK(sent_behind(keys).empty());  // the second event is with its worker
  settle(keys, first, waiting, 1);
  CHECK(sent_behind(keys) == Offsets{12});
  CHECK(sent_behind(keys).empty());
  settle(keys, first, waiting, 2);
  CHECK(sent_behind(keys) == Offsets{14});
  CHECK(keys.deferred() == 0);
  CHECK_FALSE(keys.any_behind());
}

TEST_CASE("a key with many events in memory becomes blocked if few of them were taken since the last look") {
  KeyOrder keys;
  const Run run = run_of_keys(10, "aaaab");
  CHECK(take(keys, run, {1, 2, 2, 2, 2}) == Offsets{10, 14});
  keys.block_slow_keys(2);  // it is new
  keys.block_slow_keys(3);  // it has few events
  CHECK(keys.blocked_keys() == 0);
  keys.settled(*run, finished(0, 1));
  CHECK(offsets_of(keys.take_ready(2, 3)) == Offsets{11, 12});
  keys.put_back({{run, 2}});
  keys.block_slow_keys(1);  // two were taken
  CHECK(keys.blocked_keys() == 0);
  keys.block_slow_keys(1);
  CHECK(keys.blocked_keys() == 1);
  CHECK(sent_behind(keys).empty());  // one is with its worker
  keys.settled(*run, finished(1, 2));
  CHECK(sent_behind(keys) == Offsets{12, 13});
}

TEST_CASE("the runs of a lane run while their key is blocked, and an event of the log goes behind them at once") {
  KeyOrder keys;
  keys.block(lane_a);
  const Run lane = run_of_keys(10, "aa", 2, a);
  const Run log = run_of_keys(20, "a", 5), later = run_of_keys(21, "a", 6);
  CHECK(take(keys, lane, {1, 2}) == Offsets{10});
  take(keys, log, {2});
  take(keys, later, {2});
  CHECK(sent_behind(keys) == Offsets{20});
  CHECK(sent_behind(keys).empty());  // the next run's only once that is recorded
  keys.settled(*lane, finished(0, 1));
  CHECK(offsets_of(keys.take_ready(2, 3)) == Offsets{11});
  settle(keys, log, waiting, 0);
  CHECK(sent_behind(keys) == Offsets{21});
  keys.settled(*lane, finished(1, 2));
  CHECK(keys.blocked_keys() == 1);  // until the database has nothing of it
}

TEST_CASE("once an event of a lane fails again, none of its run's later events may run before it") {
  KeyOrder keys;
  keys.block(lane_a);
  const auto lane = run_of_keys(0, "aaa", 1, a);
  CHECK(take(keys, lane, {1}) == Offsets{0});
  CHECK(take(keys, lane, {2}, 1).empty());
  settle(keys, lane, blocking, 0);
  CHECK(sent_behind(keys) == Offsets{1});
  CHECK(take(keys, lane, {3}, 2).empty());  // it comes after the failure was recorded
}

TEST_CASE("a dead event that parks its key sends the later ones behind as parked, also those of its lane") {
  KeyOrder keys;
  std::optional<std::int64_t> lane;
  SECTION("of the log") {}
  SECTION("of a lane") {
    lane = a;
    keys.block(lane_a);
  }
  const Run run = run_of_keys(10, "aaa", 2, lane);
  CHECK(take(keys, run, {1, 2}) == Offsets{10});
  settle(keys, run, parking, 0);
  take(keys, run, {3}, 2);
  CHECK(sent_behind(keys, Kind::parked) == Offsets{11, 12});
}

TEST_CASE("a blocked key is free once nothing of it is in memory or in the database") {
  KeyOrder keys;
  const Run run = run_of_keys(10, "aa");
  take(keys, run, {1});
  settle(keys, run, blocking, 0);
  REQUIRE(keys.must_check());
  SECTION("the database has an event of it") {
    check(keys, true);
    CHECK_FALSE(keys.must_check());
    CHECK(keys.blocked_keys() == 1);
  }
  SECTION("the database has a dead letter that parks it") {
    check(keys, false, true);
    take(keys, run, {2}, 1);
    CHECK(sent_behind(keys, Kind::parked) == Offsets{11});
  }
  SECTION("an event of it is on its way behind, or went behind since the database was asked") {
    auto lanes = keys.to_check(100, true);
    lanes.at(0).has_events = false;
    take(keys, run, {2}, 1);
    check(keys, false);
    CHECK(keys.blocked_keys() == 1);
    keys.take_behind();
    settle(keys, run, waiting, 1);
    keys.checked(lanes);
    CHECK(keys.blocked_keys() == 1);
  }
  SECTION("nothing is left of it") {
    check(keys, false);
    CHECK(keys.blocked_keys() == 0);
    CHECK(take(keys, run, {2}, 1) == Offsets{11});
  }
}

TEST_CASE("all blocked keys are compared with the database in turn") {
  KeyOrder keys;
  for (std::int64_t lane = 1; lane <= 200; ++lane) keys.block({sequence_of_runs, lane, true, false});
  CHECK_FALSE(keys.must_check());
  for (int round = 0; round < 100 && keys.blocked_keys() > 0; ++round) check(keys, false);
  CHECK(keys.blocked_keys() == 0);
}

}  // namespace inboxd::dispatcher
