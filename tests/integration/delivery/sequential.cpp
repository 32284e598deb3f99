// Sequences: ownership, claims in order.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>
#include <thread>

#include "integration/delivery/in_order.hpp"
#include "statements.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace inboxd::support::in_order;

// ---- ownership

TEST_CASE("a sequence has one owner, until its lease ends or it is released") {
  InOrder in_order;
  const auto other = base::random_uuid();
  CHECK(in_order.take(in_order.inbox.owner, 1) == Numbers{in_order.sequence});
  CHECK(in_order.take(other, 2).empty());
  CHECK(in_order.take(in_order.inbox.owner, 3) == Numbers{in_order.sequence});  // again
  in_order.expire();
  CHECK(in_order.take(other, 4) == Numbers{in_order.sequence});
  CHECK(in_order.take(in_order.inbox.owner, 5).empty());
  inbox::release_sequences(in_order.connection(), other, in_order.handler, {{in_order.sequence, 3}});
  CHECK(in_order.take(in_order.inbox.owner, 6).empty());  // an old fence releases nothing
  inbox::release_sequences(in_order.connection(), other, in_order.handler, {{in_order.sequence, 4}});
  CHECK(in_order.take(in_order.inbox.owner, 7) == Numbers{in_order.sequence});
}

TEST_CASE("of two instances that find a sequence without an owner, the second does not take it from the first") {
  InOrder in_order;
  const auto order = in_order.database().text("select order_settings from inbox.handler");
  Session first{in_order.database().url(), in_order.database().schema()};
  first.run("begin; select pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int)");
  const auto connection = in_order.inbox.connect();
  Numbers taken{0};
  std::thread second{[&] {
    taken = inbox::take_sequences(*connection, in_order.inbox.owner, in_order.handler, 1, lease, {in_order.sequence},
                                  false, order);
  }};
  in_order.database().wait_for(
      "the second has found the sequence, and waits",
      "select count(*) from pg_stat_activity where " + first.text("select pg_backend_pid()") +
          " = any (pg_blocking_pids(pid))",
      1);
  const auto other = base::random_uuid();
  CHECK(first.number("select * from inbox.take_sequences($1, $2, 2, '1 h', array[$3::int], false, $4)",
                     {std::to_string(in_order.handler), other.text(), std::to_string(in_order.sequence), order}) ==
        in_order.sequence);
  first.run("commit");
  second.join();
  CHECK(taken.empty());
  CHECK(in_order.database().text("select owner from inbox.sequence") == other.text());
}

TEST_CASE("a sequence that another instance wants is marked for its owner") {
  InOrder in_order;
  const auto other = base::random_uuid();
  in_order.take(in_order.inbox.owner, 1);
  const auto renewed = [&](std::int64_t fence) {
    return inbox::renew_sequences(in_order.connection(), in_order.inbox.owner, in_order.handler,
                                  {{in_order.sequence, fence}}, lease);
  };
  REQUIRE(renewed(1).size() == 1);
  CHECK_FALSE(renewed(1)[0].is_wanted);
  in_order.take(other, 2, true, {in_order.sequence + 1});
  CHECK_FALSE(renewed(1)[0].is_wanted);
  in_order.take(other, 2);
  CHECK(renewed(1).at(0).is_wanted);
  in_order.take(in_order.inbox.owner, 3);
  CHECK_FALSE(renewed(3).at(0).is_wanted);
}

TEST_CASE("whoever changes the fence of a sequence leaves it to its owner, which renews it while its calls run") {
  InOrder in_order;
  const auto other = base::random_uuid();
  const auto renewed = [&](const base::Uuid& owner) {
    return inbox::renew_sequences(in_order.connection(), owner, in_order.handler, {{in_order.sequence, 1}}, lease);
  };
  in_order.take(in_order.inbox.owner, 1);
  CHECK_FALSE(renewed(in_order.inbox.owner).at(0).other_fence);
  in_order.store(1);
  const auto claimed = in_order.claim();
  in_order.database().run(inbox::statements::change_fences.sql, {in_order.inbox.owner.text()});
  in_order.expire();
  const auto other_fence = renewed(in_order.inbox.owner).at(0).other_fence;
  REQUIRE(other_fence);
  CHECK(in_order.take(other, 2).empty());
  CHECK(renewed(other).empty());
  CHECK(state_of(in_order.claim(1)) == State::lost);
  CHECK_FALSE(in_order.settle(all_done(claimed.claimed.runs.at(0))));
  const auto release = [&](std::int64_t fence) {
    inbox::release_sequences(in_order.connection(), in_order.inbox.owner, in_order.handler,
                             {{in_order.sequence, fence}});
  };
  SECTION("or takes it again") { CHECK(in_order.take(in_order.inbox.owner, 3) == Numbers{in_order.sequence}); }
  SECTION("or releases it under that fence, and another process need not wait") {
    release(1);
    CHECK(in_order.take(other, 2).empty());
    release(*other_fence);
    CHECK(in_order.take(other, 2) == Numbers{in_order.sequence});
  }
}

TEST_CASE("another server's first statement ends leases in sequences, uncharged, and their owner claims them again") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto before = in_order.claim();
  REQUIRE(offsets_of(before) == Texts{"{[0,3)}"});
  in_order.database().run(inbox::statements::change_fences.sql, {in_order.inbox.owner.text()});
  CHECK_FALSE(in_order.settle(all_done(before.claimed.runs[0])));
  in_order.take(in_order.inbox.owner, 2);
  const auto after = in_order.claim(2);
  REQUIRE(offsets_of(after) == Texts{"{[0,3)}"});
  CHECK(after.claimed.runs[0].claims == 1);
  CHECK(in_order.settle(all_done(after.claimed.runs[0])));
}

TEST_CASE("no statement runs on another server while a locked delivery in a sequence keeps its fence") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto before = in_order.claim();
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Watchdog watchdog;
  watchdog.server().set_owner(in_order.inbox.owner);
  watchdog.server().know("another time");
  inbox::Connection connection{in_order.inbox.settings(), "test", watchdog, log};
  Session forgets{in_order.database().url(), in_order.database().schema()};
  forgets.run("begin; select from inbox.delivery for update");
  CHECK(failure_of([&] { inbox::read_routing(connection); }).fault == inbox::Fault::reconnect);
  forgets.run("rollback");
  inbox::read_routing(connection);
  CHECK_FALSE(in_order.settle(all_done(before.claimed.runs.at(0))));
}

// fault: owner stopped (SIGSTOP) past its lease, then woken
TEST_CASE("a takeover ends the leases of the earlier owner, who can settle nothing") {
  InOrder in_order;
  in_order.store(10);
  in_order.store(10);
  in_order.take(in_order.inbox.owner, 1);
  const auto before = in_order.claim();
  REQUIRE(offsets_of(before) == Texts{"{[0,10)}", "{[10,20)}"});
  in_order.expire();
  in_order.take(in_order.inbox.owner, 2);
  CHECK(in_order.database().number("select count(*) from inbox.delivery where owner is not null") == 0);
  CHECK_FALSE(in_order.settle(all_done(before.claimed.runs[0])));
  CHECK(state_of(in_order.claim(1)) == State::lost);
  const auto after = in_order.claim(2);
  REQUIRE(offsets_of(after) == Texts{"{[0,10)}", "{[10,20)}"});
  CHECK_FALSE(in_order.settle(all_done(before.claimed.runs[0])));
  CHECK(in_order.settle(all_done(after.claimed.runs[0])));
}

TEST_CASE("after a process has released a sequence it settles nothing in it, also under leases that it kept") {
  InOrder in_order;
  in_order.store(10);
  in_order.take(in_order.inbox.owner, 1);
  const auto claimed = in_order.claim();
  inbox::release_sequences(in_order.connection(), in_order.inbox.owner, in_order.handler, {{in_order.sequence, 1}});
  CHECK_FALSE(in_order.settle(Outcome{claimed.claimed.runs.at(0)}.retry(0, hour).wait({1}).out));
  CHECK(in_order.database().number("select count(*) from inbox.delivery where events = 10") == 1);
}

TEST_CASE("sequences without an owner are found by their pending rows, even if all are rows of lanes") {
  InOrder in_order;
  const auto other = base::random_uuid();
  CHECK(in_order.take(other, 1, true).empty());
  in_order.store(1);
  CHECK(in_order.take(in_order.inbox.owner, 1) == Numbers{in_order.sequence});
  CHECK(in_order.take(other, 2, true).empty());
  const auto claimed = in_order.claim();
  REQUIRE(in_order.settle(Outcome{claimed.claimed.runs.at(0)}.retry(0, hour).out));
  in_order.expire();
  CHECK(in_order.take(other, 2, true) == Numbers{in_order.sequence});
}

TEST_CASE("orphans are all sequences with pending rows, each once") {
  InOrder in_order;
  Numbers all;
  for (int partition = 1; partition <= 5; ++partition) {
    in_order.shard = in_order.sequence = in_order.inbox.add_shard("orders", partition);
    in_order.next = 0;
    in_order.store(3);
    in_order.store(3);
    all.push_back(in_order.shard);
  }
  const auto other = base::random_uuid();
  in_order.take(other, 1, false, {all[2]});
  auto taken = in_order.take(in_order.inbox.owner, 2, true);
  std::sort(taken.begin(), taken.end());
  all.erase(all.begin() + 2);
  std::sort(all.begin(), all.end());
  CHECK(taken == all);
}

TEST_CASE("ingest leases deliveries to the owner of their sequence alone") {
  InOrder in_order;
  in_order.take(in_order.inbox.owner, 1);
  CHECK(in_order.store(5, 2).sequence_is_lost);
  CHECK(in_order.inbox.position("orders") == 0);
  CHECK_FALSE(in_order.store(5, 1).sequence_is_lost);
  CHECK(in_order.database().number("select count(*) from inbox.delivery where owner is not null and fence <> 0 and "
                                   "due_at = 'infinity' and claims = 1") == 1);
  in_order.expire();
  in_order.take(base::random_uuid(), 3);
  CHECK(in_order.store(5, 1).sequence_is_lost);
  CHECK_FALSE(in_order.store(5).sequence_is_lost);  // not leased
}

// ---- claims

TEST_CASE("a claim takes rows in the order of storing, as many events as it has room for") {
  InOrder in_order;
  for (int i = 0; i < 4; ++i) in_order.store(10);
  in_order.take(in_order.inbox.owner, 1);
  const auto first = in_order.claim(1, 25);
  REQUIRE(offsets_of(first) == Texts{"{[0,10)}", "{[10,20)}", "{[20,25)}"});
  CHECK(state_of(first) == State::more);
  const auto& last = first.claimed.runs.back();
  const auto second = in_order.claim(1, 1'000, last.ordinal, last.ordinal, 24);
  REQUIRE(offsets_of(second) == Texts{"{[25,30)}", "{[30,40)}"});
  CHECK(state_of(second) == State::end);
  CHECK(second.sequences[0].next_offset == 40);
  for (const auto& run : second.claimed.runs) CHECK(run.sequence == in_order.sequence);
  CHECK(second.claimed.runs[0].ordinal == last.ordinal);
}

TEST_CASE("leased rows up to the mark are in memory, also if their first events are settled; others end the reading") {
  InOrder in_order;
  in_order.store(10);
  in_order.store(10);
  in_order.take(in_order.inbox.owner, 1);
  const auto claimed = in_order.claim(1, 10);
  REQUIRE(offsets_of(claimed) == Texts{"{[0,10)}"});
  const auto& run = claimed.claimed.runs[0];
  CHECK(state_of(in_order.claim(1, 1'000)) == State::leased);
  REQUIRE(in_order.settle(Outcome{run}.done({0, 1, 2}).out));
  const auto rest = in_order.claim(1, 1'000, -1, run.ordinal, 9);
  REQUIRE(offsets_of(rest) == Texts{"{[10,20)}"});
  CHECK(state_of(rest) == State::end);
}

TEST_CASE("a row stored out of order is found from the start") {
  InOrder in_order;
  in_order.store(10);
  in_order.store(10);
  in_order.take(in_order.inbox.owner, 1);
  const auto claimed = in_order.claim();
  const auto mark = claimed.claimed.runs.back().ordinal;
  in_order.database().run("update inbox.delivery set owner = null, fence = 0, claims = 0 where lower(pending) = 0");
  REQUIRE(offsets_of(in_order.claim(1, 1'000, mark, mark, 19)).empty());
  REQUIRE(offsets_of(in_order.claim(1, 1'000, -1, mark, 19)) == Texts{"{[0,10)}"});
}

TEST_CASE("a row that was in flight at three crashes is claimed in parts, and alone") {
  InOrder in_order;
  in_order.store(16);
  in_order.store(8);
  in_order.take(in_order.inbox.owner, 1);
  in_order.claim(1, 16);
  in_order.expire();
  in_order.take(in_order.inbox.owner, 2);
  const auto set_crashes = [&](int first, int second) {
    in_order.database().run("update inbox.delivery set claims = case lower(pending) when 0 then " +
                            std::to_string(first) + " else " + std::to_string(second) + " end");
  };
  SECTION("not after a single crash") {
    const auto claimed = in_order.claim(2);
    REQUIRE(offsets_of(claimed) == Texts{"{[0,16)}", "{[16,24)}"});
    CHECK(claimed.claimed.runs[0].claims == 2);
    CHECK(state_of(claimed) == State::end);
  }
  SECTION("after three, an eighth") {
    set_crashes(3, 0);
    REQUIRE(offsets_of(in_order.claim(2)) == Texts{"{[0,2)}"});
  }
  SECTION("a single event was alone at the last crash only if it was then claimed as a suspect of its own") {
    set_crashes(4, 0);
    const auto first = in_order.claim(2);
    REQUIRE(offsets_of(first) == Texts{"{[0,1)}"});
    CHECK_FALSE(first.claimed.runs[0].was_alone);
    in_order.expire();
    in_order.take(in_order.inbox.owner, 3);
    const auto again = in_order.claim(3);
    REQUIRE(offsets_of(again) == Texts{"{[0,1)}"});
    CHECK(again.claimed.runs[0].was_alone);
    CHECK(inbox::release_leases(in_order.connection(), in_order.inbox.owner, {again.claimed.runs[0].key}) == 1);
    // A claim that was released was no crash.
    CHECK_FALSE(in_order.claim(3).claimed.runs.at(0).was_alone);
  }
  SECTION("not after other events") {
    set_crashes(0, 8);
    const auto claimed = in_order.claim(2);
    REQUIRE(offsets_of(claimed) == Texts{"{[0,16)}"});
    CHECK(state_of(claimed) == State::more);
  }
  SECTION("not while suspects may not run") {
    set_crashes(3, 0);
    in_order.max_claims = 2;
    const auto claimed = in_order.claim(2);
    REQUIRE(offsets_of(claimed).empty());
    CHECK(state_of(claimed) == State::waits);
  }
}

// fault: several suspects after a crash, in several partitions
TEST_CASE("a claim takes a single suspect of all sequences and lanes: the suspect with the fewest crashes") {
  InOrder in_order;
  const auto first = in_order.shard;
  in_order.store(1);
  in_order.shard = in_order.sequence = in_order.inbox.add_shard("orders", 1);
  in_order.next = 0;
  in_order.store(1);
  in_order.take(in_order.inbox.owner, 1, false, {first, in_order.shard});
  in_order.database().run("update inbox.delivery set claims = case shard_id when $1 then 5 else 4 end",
                          {std::to_string(first)});
  const auto claim = [&] {
    return in_order.claim({{first, 1}, {in_order.shard, 1}}, {{first, -1, -1, -1}, {in_order.shard, -1, -1, -1}});
  };
  const auto claimed = claim();
  REQUIRE(claimed.claimed.runs.size() == 1);
  CHECK(claimed.claimed.runs[0].shard_id == in_order.shard);
  CHECK(claimed.sequences.at(0).state == State::more);
  REQUIRE(in_order.settle(all_done(claimed.claimed.runs[0])));
  CHECK(claim().claimed.runs.at(0).claims == 6);
}

TEST_CASE("history comes first: what is stored meanwhile waits until the back-fill has passed") {
  InOrder in_order{config::OrderScope::partition, Inbox::beginning()};
  Batch old{in_order.inbox};
  old.at(in_order.shard, 0).events(10);
  old.store(in_order.connection());
  in_order.next = 10;
  in_order.register_handler(config::OrderScope::partition, Inbox::beginning());
  in_order.store(5);
  in_order.take(in_order.inbox.owner, 1);
  CHECK(state_of(in_order.claim()) == State::waits);
  REQUIRE(inbox::backfill_bite(in_order.connection(), 4));
  const auto first = in_order.claim();
  REQUIRE(offsets_of(first) == Texts{"{[0,4)}"});
  CHECK(state_of(first) == State::waits);
  backfill_all(in_order.connection(), 4);
  const auto rest = in_order.claim(1, 1'000, 0, 0, 3);
  REQUIRE(offsets_of(rest) == Texts{"{[4,8)}", "{[8,10)}", "{[10,15)}"});
  CHECK(state_of(rest) == State::end);
}

TEST_CASE("a whole handler's rows are claimed in the order of storing, across partitions") {
  InOrder in_order{config::OrderScope::handler};
  const auto second = in_order.inbox.add_shard("orders", 1);
  in_order.store(2);
  const auto first_shard = in_order.shard;
  in_order.shard = second;
  in_order.next = 0;
  in_order.store(3);
  in_order.shard = first_shard;
  in_order.next = 2;
  in_order.store(2);
  CHECK(in_order.take(in_order.inbox.owner, 1) == Numbers{inbox::whole_handler});
  const auto claimed = in_order.claim();
  REQUIRE(offsets_of(claimed) == Texts{"{[0,2)}", "{[0,3)}", "{[2,4)}"});
  CHECK(claimed.claimed.runs[1].shard_id == second);
  CHECK(state_of(claimed) == State::end);
  CHECK(claimed.sequences[0].next_offset == -1);
}

TEST_CASE("a sequence of another owner gives nothing, whatever is asked") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(base::random_uuid(), 1);
  const auto claimed = in_order.claim(1);
  REQUIRE(offsets_of(claimed).empty());
  CHECK(state_of(claimed) == State::lost);
}

TEST_CASE("released leases of a sequence come again in their turn, uncharged") {
  InOrder in_order;
  in_order.store(3);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  inbox::release_leases(in_order.connection(), in_order.inbox.owner, {log.claimed.runs[0].key});
  CHECK(in_order.database().number("select count(*) from inbox.delivery where owner is null and claims = 0 and "
                                   "due_at = 'infinity'") == 1);
  REQUIRE(offsets_of(in_order.claim()) == Texts{"{[0,3)}"});
}

TEST_CASE("a handler that keeps order no more gets its pending events in no order") {
  InOrder in_order;
  in_order.store(4);
  in_order.store(2);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim(1, 4);
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.done({0}).dead(1, Kind::parks).retry(2, hour).wait({3}).out));
  in_order.register_handler(config::OrderScope::partition, Inbox::now(), config::Mode::single);
  CHECK(in_order.database().number("select count(*) from inbox.sequence") == 0);
  CHECK(in_order.database().number(
            "select count(*) from inbox.delivery where sequence is not null or lane is not null") == 0);
  CHECK(in_order.database().number("select count(*) from inbox.dead_letter where parks") == 0);
  CHECK(in_order.take(in_order.inbox.owner, 2).empty());
  auto claimed = claim_due(in_order.connection(), in_order.handler, in_order.inbox.owner);
  CHECK(events_in(claimed.runs) == 3);  // the retry is due in an hour
  in_order.make_due();
  CHECK(events_in(claim_due(in_order.connection(), in_order.handler, in_order.inbox.owner).runs) == 1);
}
