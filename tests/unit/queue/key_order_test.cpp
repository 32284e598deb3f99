// Which event of an order key may run.
#include "queue/key_order.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/queue/keyed_runs.hpp"

namespace inboxd::dispatcher {
namespace {

using Kind = settler::FailedEvent::Kind;
using test::run_in_order;
using test::sequence_of_runs;
using Run = std::shared_ptr<settler::Run>;
using Offsets = std::vector<std::int64_t>;

constexpr envelope::KeyHash a = 11, b = 22;
const inbox::Lane lane_a{sequence_of_runs, a, true, false};

Offsets offsets_of(const std::vector<Pick>& picks) {
  Offsets out;
  for (const Pick& pick : picks) out.push_back(pick.run->lease.events[pick.index]->offset);
  return out;
}

settler::KeyEffects finished(std::int64_t first, std::int64_t end) {
  settler::KeyEffects out;
  out.finished.add({first, end});
  return out;
}
settler::KeyEffects blocking(std::size_t index) {
  settler::KeyEffects out;
  out.blocking.push_back(index);
  return out;
}
settler::KeyEffects parking(std::size_t index) {
  settler::KeyEffects out;
  out.parking.push_back(index);
  return out;
}
settler::KeyEffects waiting(std::size_t index) {
  settler::KeyEffects out;
  out.waiting.push_back(index);
  return out;
}

/// The offsets that go behind now, all of that kind.
Offsets sent_behind(KeyOrder& keys, Kind kind) {
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

bool is_free(KeyOrder& keys, envelope::KeyHash key, std::int64_t offset) {
  const Run run = run_in_order({{offset}, {key}, 1'000 + offset});
  if (!keys.take({run, 0}, 1'000'000 + static_cast<KeyOrder::Call>(offset))) return false;
  keys.settled(*run, finished(0, 1));
  return true;
}

/// Asks the database for all keys; it answers that nothing of them is left.
void free_all(KeyOrder& keys) {
  std::vector<inbox::Lane> lanes = keys.to_check(100);
  for (inbox::Lane& lane : lanes) lane.has_events = lane.is_parked = false;
  keys.checked(lanes);
}

}  // namespace

TEST_CASE("events of a key run one after the other, each once the outcome of the one before is recorded") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12}, {a, a, a}});
  CHECK(keys.take({run, 0}, 1));
  CHECK_FALSE(keys.take({run, 1}, 2));
  CHECK_FALSE(keys.take({run, 2}, 3));
  CHECK(keys.any_deferred());
  CHECK_FALSE(keys.any_ready());
  CHECK(keys.take_ready(10, 4).empty());
  keys.settled(*run, finished(0, 1));
  REQUIRE(keys.any_ready());
  CHECK(offsets_of(keys.take_ready(1, 5)) == Offsets{11});
  CHECK_FALSE(keys.any_ready());
  keys.settled(*run, finished(1, 2));
  CHECK(offsets_of(keys.take_ready(1, 6)) == Offsets{12});
  CHECK_FALSE(keys.any_deferred());
  keys.settled(*run, finished(2, 3));
  CHECK(is_free(keys, a, 13));
}

TEST_CASE("events of different keys, and those without one, do not wait for each other") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12, 13}, {a, b, envelope::no_order_key, envelope::no_order_key}});
  for (std::size_t i = 0; i < 4; ++i) CHECK(keys.take({run, i}, 1 + i));
  keys.settled(*run, finished(0, 4));
  CHECK_FALSE(keys.any_ready());
}

TEST_CASE("one key on two partitions is two keys, and one key if the whole handler keeps order") {
  CHECK(order_key(3, a) != order_key(4, a));
  CHECK(order_key(3, envelope::no_order_key) == 0);
}

TEST_CASE("events of one key share a call, but no event joins it behind a deferred one") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12, 13}, {a, a, a, a}});
  CHECK(keys.take({run, 0}, 1));
  CHECK(keys.take({run, 1}, 1));
  CHECK_FALSE(keys.take({run, 2}, 2));
  CHECK_FALSE(keys.take({run, 3}, 1));
  keys.settled(*run, finished(0, 1));
  CHECK_FALSE(keys.any_ready());
  keys.settled(*run, finished(1, 2));
  CHECK(offsets_of(keys.take_ready(10, 3)) == Offsets{12, 13});
}

TEST_CASE("deferred events become ready in order, as many as one call takes") {
  KeyOrder keys;
  const Run first = run_in_order({{10, 11}, {a, a}, 1});
  const Run second = run_in_order({{12, 13}, {a, a}, 2});
  CHECK(keys.take({first, 0}, 1));
  CHECK_FALSE(keys.take({first, 1}, 2));
  CHECK_FALSE(keys.take({second, 0}, 2));
  CHECK_FALSE(keys.take({second, 1}, 2));
  keys.settled(*first, finished(0, 1));
  SECTION("of one run, whose outcomes are recorded together") {
    CHECK(offsets_of(keys.take_ready(10, 3)) == Offsets{11});
    keys.settled(*first, finished(1, 2));
    CHECK(offsets_of(keys.take_ready(1, 4)) == Offsets{12});
    keys.settled(*second, finished(0, 1));
    CHECK(offsets_of(keys.take_ready(10, 5)) == Offsets{13});
  }
  SECTION("of several runs in a transaction") {
    CHECK(offsets_of(keys.take_ready(2, 3, true)) == Offsets{11, 12});
    keys.settled(*second, finished(0, 1));
    CHECK_FALSE(keys.any_ready());
    keys.settled(*first, finished(1, 2));
    CHECK(offsets_of(keys.take_ready(2, 4, true)) == Offsets{13});
  }
}

TEST_CASE("events of one key on two runs share a call only in a transaction") {
  KeyOrder keys;
  const Run first = run_in_order({{10}, {a}, 1});
  const Run second = run_in_order({{11}, {a}, 2});
  CHECK(keys.take({first, 0}, 1));
  SECTION("not without one") { CHECK_FALSE(keys.take({second, 0}, 1)); }
  SECTION("in a transaction") { CHECK(keys.take({second, 0}, 1, true)); }
}

TEST_CASE("an event that must be called alone shares no call") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12, 13}, {a, a, a, a}});
  CHECK(keys.take({run, 0}, 1));
  CHECK_FALSE(keys.take({run, 1}, 2));
  CHECK_FALSE(keys.take({run, 2, true}, 2));
  CHECK_FALSE(keys.take({run, 3}, 2));
  keys.settled(*run, finished(0, 1));
  CHECK(offsets_of(keys.take_ready(10, 3)) == Offsets{11});
  keys.settled(*run, finished(1, 2));
  CHECK(offsets_of(keys.take_ready(10, 4)) == Offsets{12});
  keys.settled(*run, finished(2, 3));
  CHECK(offsets_of(keys.take_ready(10, 5)) == Offsets{13});
}

TEST_CASE("events that are put back come first again") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12, 13}, {a, a, a, a}});
  for (std::size_t i = 0; i < 3; ++i) CHECK(keys.take({run, i}, 1));
  CHECK_FALSE(keys.take({run, 3}, 2));
  keys.put_back({{run, 1}, {run, 2}});
  CHECK_FALSE(keys.any_ready());  // the first is with its worker
  keys.settled(*run, finished(0, 1));
  CHECK(offsets_of(keys.take_ready(10, 3)) == Offsets{11, 12, 13});
}

TEST_CASE("events that are put back one after the other keep the order of the log") {
  KeyOrder keys;
  const Run first = run_in_order({{10, 11}, {a, a}, 1});
  const Run second = run_in_order({{12, 13}, {a, a}, 2});
  for (std::size_t i = 0; i < 2; ++i) CHECK(keys.take({first, i}, 1, true));
  for (std::size_t i = 0; i < 2; ++i) CHECK(keys.take({second, i}, 1, true));
  keys.put_back({{first, 1}, {second, 1}});
  keys.put_back({{second, 0}});
  keys.put_back({{first, 0}});
  CHECK(offsets_of(keys.take_ready(10, 2, true)) == Offsets{10, 11, 12, 13});
}

TEST_CASE("a failed event sends deferred and later events of its key behind it") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12, 13}, {a, a, a, b}});
  CHECK(keys.take({run, 0}, 1));
  CHECK_FALSE(keys.take({run, 1}, 2));
  keys.settled(*run, blocking(0));
  CHECK(keys.blocked_keys() == 1);
  CHECK_FALSE(keys.take({run, 2}, 3));
  CHECK(keys.take({run, 3}, 3));
  CHECK(sent_behind(keys, Kind::waits) == Offsets{11, 12});
  CHECK_FALSE(keys.any_behind());
  CHECK_FALSE(keys.any_deferred());
}

TEST_CASE("events go behind in order: those of a run together, after all events of their key before them") {
  KeyOrder keys;
  const Run first = run_in_order({{10, 11, 12}, {a, a, a}, 1});
  const Run second = run_in_order({{13}, {a}, 2});
  CHECK(keys.take({first, 0}, 1));
  CHECK(keys.take({first, 1}, 1));
  CHECK_FALSE(keys.take({first, 2}, 2));
  CHECK_FALSE(keys.take({second, 0}, 2));
  keys.settled(*first, blocking(0));
  CHECK(sent_behind(keys, Kind::waits).empty());  // the second event is with its worker
  keys.settled(*first, waiting(1));
  CHECK(sent_behind(keys, Kind::waits) == Offsets{12});
  CHECK(sent_behind(keys, Kind::waits).empty());
  keys.settled(*first, waiting(2));
  CHECK(sent_behind(keys, Kind::waits) == Offsets{13});
  CHECK_FALSE(keys.any_deferred());
}

TEST_CASE("events that are put back after their key was blocked go behind") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11}, {a, a}});
  CHECK(keys.take({run, 0}, 1));
  CHECK(keys.take({run, 1}, 1));
  keys.settled(*run, blocking(0));
  keys.put_back({{run, 1}});
  CHECK(sent_behind(keys, Kind::waits) == Offsets{11});
}

TEST_CASE("a key with many events in memory becomes blocked if few of them were taken since the last look") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12, 13, 14}, {a, a, a, a, b}});
  CHECK(keys.take({run, 0}, 1));
  for (const std::size_t i : {1, 2, 3}) CHECK_FALSE(keys.take({run, i}, 2));
  CHECK(keys.take({run, 4}, 2));
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
  CHECK(sent_behind(keys, Kind::waits).empty());  // one is with its worker
  keys.settled(*run, finished(1, 2));
  CHECK(sent_behind(keys, Kind::waits) == Offsets{12, 13});
}

TEST_CASE("an event of the log goes behind at once while events of its lane run") {
  KeyOrder keys;
  keys.block(lane_a);
  const Run lane = run_in_order({{10, 11}, {a, a}, 2, a});
  const Run log = run_in_order({{20}, {a}, 5});
  const Run later = run_in_order({{21}, {a}, 6});
  CHECK(keys.take({lane, 0}, 1));
  CHECK_FALSE(keys.take({lane, 1}, 2));
  CHECK_FALSE(keys.take({log, 0}, 2));
  CHECK_FALSE(keys.take({later, 0}, 2));
  CHECK(sent_behind(keys, Kind::waits) == Offsets{20});
  CHECK(sent_behind(keys, Kind::waits).empty());  // the next run's only once that is recorded
  keys.settled(*lane, finished(0, 1));
  CHECK(offsets_of(keys.take_ready(2, 3)) == Offsets{11});
  keys.settled(*log, waiting(0));
  CHECK(sent_behind(keys, Kind::waits) == Offsets{21});
}

TEST_CASE("the runs of a lane run while their key is blocked, and other events of the key do not") {
  KeyOrder keys;
  keys.block(lane_a);
  const Run log = run_in_order({{20}, {a}, 5});
  CHECK_FALSE(keys.take({log, 0}, 1));
  const Run lane = run_in_order({{10, 11}, {a, a}, 2, a});
  sent_behind(keys, Kind::waits);
  keys.settled(*log, waiting(0));
  CHECK(keys.take({lane, 0}, 2));
  CHECK(keys.take({lane, 1}, 2));
  keys.settled(*lane, finished(0, 2));
  CHECK(keys.blocked_keys() == 1);  // until the database has nothing of it
}

TEST_CASE("a run of a lane that fails again sends its rest behind") {
  KeyOrder keys;
  keys.block(lane_a);
  const Run lane = run_in_order({{10, 11, 12, 13}, {a, a, a, a}, 2, a});
  CHECK(keys.take({lane, 0}, 1));
  CHECK(keys.take({lane, 1}, 1));
  CHECK_FALSE(keys.take({lane, 2}, 2));
  auto effects = finished(0, 1);
  effects.blocking.push_back(1);
  keys.settled(*lane, effects);
  CHECK_FALSE(keys.take({lane, 3}, 3));
  CHECK(sent_behind(keys, Kind::waits) == Offsets{12, 13});
}

TEST_CASE("a dead event that parks its key sends the later ones behind as parked") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12}, {a, a, a}});
  CHECK(keys.take({run, 0}, 1));
  CHECK_FALSE(keys.take({run, 1}, 2));
  keys.settled(*run, parking(0));
  CHECK_FALSE(keys.take({run, 2}, 3));
  CHECK(sent_behind(keys, Kind::parked) == Offsets{11, 12});
}

TEST_CASE("the runs of a lane go behind as parked, too, once a dead letter parks their key") {
  KeyOrder keys;
  keys.block(lane_a);
  const Run first = run_in_order({{10}, {a}, 2, a});
  CHECK(keys.take({first, 0}, 1));
  keys.settled(*first, parking(0));
  keys.block(lane_a);
  const Run second = run_in_order({{11}, {a}, 3, a});
  CHECK_FALSE(keys.take({second, 0}, 2));
  CHECK(sent_behind(keys, Kind::parked) == Offsets{11});
}

TEST_CASE("a parked key that an operator has released runs its lane again") {
  KeyOrder keys;
  keys.block({sequence_of_runs, a, false, true});
  const Run run = run_in_order({{10}, {a}, 2, a});
  CHECK_FALSE(keys.take({run, 0}, 1));
  CHECK(sent_behind(keys, Kind::parked) == Offsets{10});
  keys.settled(*run, waiting(0));  // in its lane: the database has no dead letter that parks the key
  REQUIRE(keys.must_check());
  auto lanes = keys.to_check(1);
  for (auto& lane : lanes) lane = {lane.sequence, lane.lane, true, false};
  keys.checked(lanes);
  const Run again = run_in_order({{10}, {a}, 3, a});
  keys.block(lane_a);
  CHECK(keys.take({again, 0}, 2));
}

TEST_CASE("a blocked key is free once nothing of it is in memory or in the database") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11}, {a, a}});
  CHECK(keys.take({run, 0}, 1));
  keys.settled(*run, blocking(0));
  REQUIRE(keys.must_check());
  SECTION("the database has an event of it") {
    keys.checked(keys.to_check(100));
    CHECK_FALSE(keys.must_check());
    CHECK(keys.blocked_keys() == 1);
  }
  SECTION("the database has a dead letter that parks it") {
    auto lanes = keys.to_check(100);
    REQUIRE(lanes.size() >= 1);
    for (auto& lane : lanes) lane = {lane.sequence, lane.lane, false, true};
    keys.checked(lanes);
    CHECK_FALSE(keys.take({run, 1}, 2));
    CHECK(sent_behind(keys, Kind::parked) == Offsets{11});
  }
  SECTION("an event of it is on its way behind") {
    CHECK_FALSE(keys.take({run, 1}, 2));
    free_all(keys);
    CHECK(keys.blocked_keys() == 1);
    keys.take_behind();
    free_all(keys);
    CHECK(keys.blocked_keys() == 1);
    keys.settled(*run, waiting(1));
    free_all(keys);
    CHECK(keys.blocked_keys() == 0);
  }
  SECTION("an event of it went behind since the database was asked") {
    auto lanes = keys.to_check(100);
    for (auto& lane : lanes) lane.has_events = false;
    CHECK_FALSE(keys.take({run, 1}, 2));
    keys.take_behind();
    keys.settled(*run, waiting(1));
    keys.checked(lanes);
    CHECK(keys.blocked_keys() == 1);
  }
  SECTION("nothing is left of it") {
    free_all(keys);
    CHECK(keys.blocked_keys() == 0);
    CHECK(keys.take({run, 1}, 2));
  }
}

TEST_CASE("all blocked keys are compared with the database in turn") {
  KeyOrder keys;
  constexpr std::int64_t count = 200;
  for (std::int64_t lane = 1; lane <= count; ++lane) keys.block({sequence_of_runs, lane, true, false});
  CHECK_FALSE(keys.must_check());
  for (int round = 0; round < 1'000 && keys.blocked_keys() > 0; ++round) {
    auto lanes = keys.to_check(10);
    for (auto& lane : lanes) lane.has_events = false;
    keys.checked(lanes);
  }
  CHECK(keys.blocked_keys() == 0);
}

TEST_CASE("nothing stays of a sequence that is forgotten") {
  KeyOrder keys;
  const Run run = run_in_order({{10, 11, 12}, {a, a, b}});
  CHECK(keys.take({run, 0}, 1));
  CHECK_FALSE(keys.take({run, 1}, 2));
  keys.block({sequence_of_runs, b, true, false});
  CHECK_FALSE(keys.take({run, 2}, 2));
  keys.block({sequence_of_runs + 1, b, true, false});
  keys.forget(sequence_of_runs);
  CHECK_FALSE(keys.any_deferred());
  CHECK_FALSE(keys.any_behind());
  CHECK(keys.blocked_keys() == 1);
  keys.put_back({{run, 0}});
  CHECK_FALSE(keys.any_ready());
  CHECK(is_free(keys, a, 13));
  CHECK(is_free(keys, b, 14));
}

TEST_CASE("the failed event itself runs, although it was claimed again before its failure was known in memory") {
  KeyOrder keys;
  const Run first = run_in_order({{10}, {a}, 1});
  CHECK(keys.take({first, 0}, 1));
  keys.block(lane_a);
  const Run lane = run_in_order({{10}, {a}, 3, a, 1});
  CHECK_FALSE(keys.take({lane, 0}, 2));
  keys.settled(*first, blocking(0));
  CHECK(offsets_of(keys.take_ready(1, 3)) == Offsets{10});
}

}  // namespace inboxd::dispatcher
