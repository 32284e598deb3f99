// Sequences: lanes of blocked keys.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "integration/delivery/in_order.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace inboxd::support::in_order;

TEST_CASE("a failed event begins a lane; once it is over, a claim takes the events that wait at once") {
  InOrder in_order;
  in_order.store(5);
  in_order.store(5);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.done({1, 3}).retry(0, hour).wait({2, 4}).out));
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[1]}.done({5, 6, 8, 9}).wait({7}).out));
  CHECK(in_order.lane_rows() == "{[0,1)} due, {[2,3),[4,5)}, {[7,8)}");
  CHECK(in_order.claim_lanes().claimed.runs.empty());  // an hour is left

  in_order.make_due();
  const auto head = in_order.claim_lanes();
  REQUIRE(offsets_of(head) == Texts{"{[0,1)}"});
  CHECK(head.claimed.runs[0].lane == lane);
  CHECK(head.claimed.runs[0].attempts == 1);
  CHECK(in_order.claim_lanes().claimed.runs.empty());  // the others wait for its outcome
  REQUIRE(in_order.settle(Outcome{head.claimed.runs[0]}.done({0}).out));
  CHECK(in_order.lane_rows() == "{[2,3),[4,5)} due, {[7,8)}");

  const auto second = in_order.claim_lanes();
  REQUIRE(offsets_of(second) == Texts{"{[2,3),[4,5),[7,8)}"});
  CHECK(in_order.lane_rows() == "{[2,3),[4,5),[7,8)} leased");
  REQUIRE(in_order.settle(Outcome{second.claimed.runs[0]}.retry(2, hour).wait({4, 7}).out));
  CHECK(in_order.lane_rows() == "{[2,3)} due, {[4,5),[7,8)}");
  in_order.make_due();
  const auto third = in_order.claim_lanes();
  REQUIRE(offsets_of(third) == Texts{"{[2,3)}"});
  CHECK(third.claimed.runs[0].attempts == 1);
  REQUIRE(in_order.settle(Outcome{third.claimed.runs[0]}.dead(2, Kind::dead).out));
  CHECK(in_order.lane_rows() == "{[4,5),[7,8)} due");
  const auto last = in_order.claim_lanes();
  REQUIRE(last.claimed.runs.size() == 1);
  REQUIRE(in_order.settle(Outcome{last.claimed.runs[0]}.done({4, 7}).out));
  CHECK(in_order.database().number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("a claim joins no more events of a lane than it has room for") {
  InOrder in_order;
  for (int i = 0; i < 4; ++i) in_order.store(2);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  for (std::int64_t i = 0; i < 4; ++i) {
    const auto& run = log.claimed.runs.at(static_cast<std::size_t>(i));
    REQUIRE(in_order.settle(Outcome{run}.wait({2 * i, 2 * i + 1}).out));
  }
  REQUIRE(offsets_of(in_order.claim({{in_order.sequence, 1}}, {}, 5)) == Texts{"{[0,4)}"});
  CHECK(in_order.lane_rows() == "{[0,4)} leased, {[4,6)}, {[6,8)}");
}

TEST_CASE("replayed events are claimed row by row: another replay may put an event between them") {
  InOrder in_order;
  for (int i = 0; i < 4; ++i) in_order.store(1);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto& run = log.claimed.runs.at(static_cast<std::size_t>(i));
    REQUIRE(in_order.settle(Outcome{run}.dead(i, Kind::dead).out));
  }
  REQUIRE(in_order.settle(Outcome{log.claimed.runs.at(3)}.wait({3}).out));
  const auto replay = [&](const std::string& which) {
    in_order.database().run("select inbox.replay_dead(array_agg(dead_letter_id), false, 100) from inbox.dead_letter"
                            " where " + which);
  };
  replay("\"offset\" <> 1");
  in_order.take(in_order.inbox.owner, 2);
  const auto first = in_order.claim_lanes(2);
  REQUIRE(offsets_of(first) == Texts{"{[0,1)}"});
  replay("\"offset\" = 1");
  REQUIRE(in_order.settle(Outcome{first.claimed.runs.at(0)}.done({0}).out));
  in_order.take(in_order.inbox.owner, 3);
  for (const std::string next : {"{[1,2)}", "{[2,3)}", "{[3,4)}"}) {
    const auto claimed = in_order.claim_lanes(3);
    REQUIRE(offsets_of(claimed) == Texts{next});
    inbox::Settlement done = all_done(claimed.claimed.runs.at(0));
    done.is_of_lane = true;
    REQUIRE(in_order.settle(done));
  }
}

TEST_CASE("the lanes of a sequence, and their state, are read in order") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  inbox::Settlement outcome = Outcome{log.claimed.runs[0]}.out;
  for (std::int64_t i = 0; i < 3; ++i) {
    outcome.retries.push_back({offsets({i}), hour, "test: no", inbox::FailedKey{30 - 10 * i, "k"}});
  }
  REQUIRE(in_order.settle(outcome));
  const auto read = [&](std::int64_t after, int limit) {
    std::vector<std::int64_t> out;
    for (const auto& each : inbox::read_lanes(in_order.connection(), in_order.handler, in_order.sequence, after, limit))
      out.push_back(each.lane);
    return out;
  };
  CHECK(read(std::numeric_limits<std::int64_t>::min(), 2) == std::vector<std::int64_t>{10, 20});
  CHECK(read(20, 2) == std::vector<std::int64_t>{30});
  const auto states =
      inbox::check_lanes(in_order.connection(), in_order.handler,
                         {{in_order.sequence, 20}, {in_order.sequence, 99}, {in_order.sequence + 1, 20}});
  REQUIRE(states.size() == 3);
  CHECK(states[0].has_events);
  CHECK_FALSE(states[1].has_events);
  CHECK_FALSE(states[2].has_events);
}

TEST_CASE("a dead letter parks its key: later events become parked, without an attempt") {
  InOrder in_order;
  in_order.store(4);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(
      Outcome{log.claimed.runs[0]}.done({3}).dead(0, Kind::parks).dead(1, Kind::parked).dead(2, Kind::parked).out));
  CHECK(in_order.database().text(
            "select string_agg(\"offset\" || ' ' || state || ' ' || attempts || ' ' || parks, ', ' "
            "order by \"offset\") from inbox.dead_letter") == "0 dead 1 true, 1 parked 0 false, 2 parked 0 false");
  CHECK(in_order.database().number("select count(*) from inbox.delivery") == 0);
  const auto states =
      inbox::check_lanes(in_order.connection(), in_order.handler, {{in_order.sequence, lane, true, false}});
  CHECK_FALSE(states.at(0).has_events);
  CHECK(states.at(0).is_parked);
  const auto lanes = inbox::read_lanes(in_order.connection(), in_order.handler, in_order.sequence, 0, 10);
  REQUIRE(lanes.size() == 1);
  CHECK(lanes[0].is_parked);
}

TEST_CASE("an event that would be parked waits in its lane if an operator has released its key meanwhile") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.done({0}).dead(1, Kind::parked).dead(2, Kind::parked).out));
  CHECK(in_order.database().number("select count(*) from inbox.dead_letter") == 0);
  CHECK(in_order.lane_rows() == "{[1,2)} due, {[2,3)}");
}

TEST_CASE("a takeover makes leased rows of lanes due, and no others") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.retry(0, milliseconds{0}).wait({1, 2}).out));
  REQUIRE(offsets_of(in_order.claim_lanes()) == Texts{"{[0,1)}"});
  CHECK(in_order.lane_rows() == "{[0,1)} leased, {[1,3)}");
  in_order.expire();
  in_order.take(in_order.inbox.owner, 2);
  CHECK(in_order.lane_rows() == "{[0,1)} due, {[1,3)}");
  CHECK(in_order.claim_lanes(1).claimed.runs.empty());
  REQUIRE(offsets_of(in_order.claim_lanes(2)) == Texts{"{[0,1)}"});
}

TEST_CASE("a lane's row that was in flight at three crashes is claimed in parts, then the rest") {
  InOrder in_order;
  in_order.store(17);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  Outcome outcome{log.claimed.runs[0]};
  REQUIRE(in_order.settle(outcome.done({0}).wait({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}).out));
  CHECK(in_order.lane_rows() == "{[1,17)} due");
  in_order.claim_lanes();
  in_order.expire();
  in_order.take(in_order.inbox.owner, 2);
  in_order.database().run("update inbox.delivery set claims = 3");
  const auto part = in_order.claim_lanes(2);
  REQUIRE(offsets_of(part) == Texts{"{[1,3)}"});
  CHECK(in_order.lane_rows() == "{[1,3)} leased, {[3,17)}");
  REQUIRE(in_order.settle(Outcome{part.claimed.runs[0]}.done({1, 2}).out));
  CHECK(in_order.lane_rows() == "{[3,17)} due");
}

TEST_CASE("while fresh events wait, lanes get at most half of a claim") {
  InOrder in_order;
  in_order.store(6);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs.at(0)}.wait({0, 1, 2, 3, 4, 5}).out));
  in_order.store(6);
  const auto claimed = in_order.claim(1, 8, -1, log.claimed.runs[0].ordinal, 5);
  REQUIRE(offsets_of(claimed) == Texts{"{[0,4)}", "{[6,10)}"});
}

TEST_CASE("a claim takes no more events of lanes than it has room for") {
  InOrder in_order;
  in_order.store(6);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  inbox::Settlement outcome = Outcome{log.claimed.runs.at(0)}.wait({0, 1, 2}).out;
  outcome.waiting.push_back({lane + 1, offsets({3, 4, 5})});
  REQUIRE(in_order.settle(outcome));
  const auto some = in_order.claim({{in_order.sequence, 1}}, {}, 4);
  REQUIRE(some.claimed.runs.size() == 2);
  CHECK(events_in(some.claimed.runs) == 4);
  const auto& cut = some.claimed.runs[1];
  inbox::Settlement done = all_done(cut);
  done.is_of_lane = true;
  REQUIRE(in_order.settle(done));
  CHECK(events_in(in_order.claim_lanes().claimed.runs) == 2);  // the rest of that lane
}

TEST_CASE("once the first event of a lane is found dropped or forgotten, the next event of its key is due") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.done({2}).retry(0, milliseconds{0}).wait({1}).out));
  in_order.database().run("delete from inbox.event where \"offset\" = 0");
  const auto first = in_order.claim_lanes();
  CHECK(first.claimed.runs.empty());
  REQUIRE(first.claimed.empty.size() == 1);
  inbox::settle_skipped(in_order.connection(), in_order.inbox.owner, first.claimed.empty);
  CHECK(in_order.lane_rows() == "{[1,2)} due");
  CHECK(offsets_of(in_order.claim_lanes()) == Texts{"{[1,2)}"});
}

// fault: dead letter replayed while later events of its key run
// fault: dead letters replayed, lanes released, events skipped while later rows of the key are claimed
TEST_CASE("a replayed event comes before the next event of its key, also if that event is leased or runs already") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.done({2}).retry(0, milliseconds{0}).wait({1}).out));
  const auto first = in_order.claim_lanes();
  REQUIRE(in_order.settle(Outcome{first.claimed.runs.at(0)}.dead(0, Kind::dead).out));
  const auto second = in_order.claim_lanes();
  REQUIRE(offsets_of(second) == Texts{"{[1,2)}"});

  in_order.database().run("select inbox.replay_dead(array_agg(dead_letter_id), false, 100) from inbox.dead_letter");
  CHECK(in_order.lane_rows() == "{[0,1)} due, {[1,2)}");
  CHECK_FALSE(in_order.settle(Outcome{second.claimed.runs.at(0)}.done({1}).out));
  CHECK(in_order.database().number("select max(claims) from inbox.delivery") == 0);  // no crash is charged
  in_order.take(in_order.inbox.owner, 2);
  CHECK(offsets_of(in_order.claim_lanes(2)) == Texts{"{[0,1)}"});
}

TEST_CASE("after a replay nothing is born leased or claimed until the owner has taken the sequence again") {
  InOrder in_order;
  in_order.store(2);
  in_order.take(in_order.inbox.owner, 1);
  const auto find_lost = [&](std::int64_t fence) {
    return inbox::find_lost_sequences(in_order.connection(), in_order.inbox.owner, in_order.handler,
                                      {{in_order.sequence, fence}});
  };
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.dead(0, Kind::dead).out));
  CHECK(find_lost(1).empty());
  in_order.database().run("select inbox.replay_dead(array_agg(dead_letter_id), false, 100) from inbox.dead_letter");

  CHECK(find_lost(1).size() == 1);
  CHECK(in_order.store(1, 1).sequence_is_lost);
  in_order.store(1);
  const auto refused = in_order.claim();
  CHECK(refused.claimed.runs.empty());
  CHECK(state_of(refused) == State::lost);
  CHECK(in_order.settle(Outcome{log.claimed.runs[0]}.done({1}).out));  // its call had begun
  REQUIRE(in_order.take(in_order.inbox.owner, 2) == Numbers{in_order.sequence});
  CHECK(find_lost(2).empty());
  CHECK(offsets_of(in_order.claim(2)) == Texts{"{[0,1)}", "{[2,3)}"});
}
