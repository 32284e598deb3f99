// Sequences: ownership, claims in order, lanes of blocked keys.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <limits>

#include "inbox/sequence.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

using Numbers = std::vector<std::int32_t>;
using State = inbox::SequenceRead::State;
using Kind = inbox::DeadEvent::State;
using Texts = std::vector<std::string>;

constexpr milliseconds lease{30'000};
constexpr std::int64_t lane = 4711;
constexpr std::int64_t mark_of_nothing = -1;

/// A handler that keeps order, with one partition, and what its instances do.
struct InOrder {
  explicit InOrder(config::OrderScope scope = config::OrderScope::partition, config::StartAt start = Inbox::now()) {
    if (start.kind == config::StartAt::Kind::beginning) return;
    register_handler(scope, start);
  }

  void register_handler(config::OrderScope scope, config::StartAt start, config::Mode mode = config::Mode::sequential) {
    config::Handler settings = handler_named("receipt");
    settings.mode = mode;
    settings.order_scope = scope;
    settings.start = start;
    inbox::register_handlers(inbox.connection(), {settings});
    handler = static_cast<std::int32_t>(database().number("select handler_id from inbox.handler"));
    sequence = scope == config::OrderScope::handler ? inbox::whole_handler : shard;
  }

  Database& database() { return inbox.database(); }
  inbox::Connection& connection() { return inbox.connection(); }

  /// Stores a run of events; its offsets follow those before.
  inbox::IngestResult store(int events, std::int64_t fence = 0) {
    Batch batch{inbox};
    batch.at(shard, next).events(events).deliver_to(handler, fence == 0 ? milliseconds{0} : lease);
    batch.get().runs.back().sequence = sequence;
    batch.get().runs.back().sequence_fence = fence;
    const auto out = batch.store(connection());
    if (!out.sequence_is_lost) next += events;
    return out;
  }

  Numbers take(const base::Uuid& owner, std::int64_t fence, bool orphans = false, Numbers wanted = {},
               milliseconds how_long = lease) {
    if (wanted.empty() && !orphans) wanted = {sequence};
    return inbox::take_sequences(connection(), owner, handler, fence, how_long, wanted, orphans,
                                 database().text("select inbox.order_of(mode, order_scope) from inbox.handler "
                                                 "where handler_id = $1",
                                                 {std::to_string(handler)}));
  }
  void expire() { database().run("update inbox.sequence set leased_until = clock_timestamp() - interval '1 s'"); }
  void make_due() {
    database().run("update inbox.delivery set due_at = clock_timestamp() where due_at < 'infinity' and owner is null");
  }

  inbox::ClaimedInOrder claim(std::int64_t fence = 1, std::int64_t events = 1'000'000, std::int64_t start = -1,
                              std::int64_t mark = mark_of_nothing, std::int64_t mark_offset = -1) {
    return claim({{sequence, fence}}, {{sequence, start, mark, mark_offset}}, events);
  }
  inbox::ClaimedInOrder claim(std::vector<inbox::SequenceKey> owned, std::vector<inbox::SequenceToRead> read,
                              std::int64_t events = 1'000'000) {
    inbox::ClaimInOrderRequest request;
    request.claim.handler_id = handler;
    request.claim.owner = inbox.owner;
    request.claim.fence = base::random_fence();
    request.claim.events = events;
    request.claim.rows = 1'000;
    request.claim.claims_to = most_claims;
    request.owned = std::move(owned);
    request.read = std::move(read);
    return inbox::claim_in_order(connection(), request);
  }
  inbox::ClaimedInOrder claim_lanes(std::int64_t fence = 1) { return claim({{sequence, fence}}, {}); }

  bool settle(const inbox::Settlement& settlement) {
    return inbox::settle(connection(), inbox.owner, {settlement}).empty();
  }

  /// Rows of the lane in their order: offsets, attempts, whether they are due.
  std::string lane_rows() {
    return database().text(
        "select coalesce(string_agg(pending || case when due_at < 'infinity' then ' due' else '' end"
        " || case when owner is not null then ' leased' else '' end, ', '"
        " order by coalesce(ordinal, delivery_id), lower(pending)), '') from inbox.delivery where lane is not null");
  }

  Inbox inbox;
  std::int32_t shard = inbox.add_shard("orders");
  std::int32_t handler = 0;
  std::int32_t sequence = 0;
  std::int64_t next = 0;
  std::int32_t most_claims = 1'000;
};

Texts offsets_of(const inbox::ClaimedInOrder& claimed) {
  Texts out;
  for (const auto& run : claimed.claimed.runs) out.push_back(run.pending.text());
  return out;
}

State state_of(const inbox::ClaimedInOrder& claimed) {
  REQUIRE(claimed.sequences.size() == 1);
  return claimed.sequences[0].state;
}

event::OffsetSet offsets(std::initializer_list<std::int64_t> all) {
  event::OffsetSet out;
  for (const auto offset : all) out.add(offset);
  return out;
}

/// Ends a run: the first event fails, the later ones of its key wait, the rest is done.
struct Outcome {
  explicit Outcome(const inbox::LeasedRun& run) : run_{run} {
    out.key = run.key;
    out.is_of_lane = run.lane.has_value();
  }
  Outcome& done(std::initializer_list<std::int64_t> all) {
    out.done = offsets(all);
    return *this;
  }
  Outcome& retry(std::int64_t offset, milliseconds delay) {
    out.retries.push_back({offsets({offset}), delay, "test: no", inbox::FailedKey{lane, "k"}});
    return *this;
  }
  Outcome& wait(std::initializer_list<std::int64_t> all) {
    out.waiting.push_back({lane, offsets(all)});
    return *this;
  }
  Outcome& dead(std::int64_t offset, Kind kind) {
    for (const auto* event : run_.events) {
      if (event->offset == offset) out.dead.push_back({offset, event->event_id, kind, inbox::FailedKey{lane, "k"}});
    }
    return *this;
  }
  inbox::Settlement out;

 private:
  const inbox::LeasedRun& run_;
};

constexpr milliseconds hour{3'600'000};

}  // namespace

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
  CHECK(renewed(2).empty());
  in_order.take(in_order.inbox.owner, 3);
  CHECK_FALSE(renewed(3).at(0).is_wanted);
}

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
  REQUIRE(offsets_of(after) == Texts{"{[0,5)}"});  // it was in flight at a crash
  CHECK_FALSE(in_order.settle(all_done(before.claimed.runs[0])));
  CHECK(in_order.settle(all_done(after.claimed.runs[0])));
}

TEST_CASE("sequences without an owner are found by their pending rows, also those with rows of lanes alone") {
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

TEST_CASE("a row that was in flight at crashes is claimed in parts, and alone") {
  InOrder in_order;
  in_order.store(8);
  in_order.store(8);
  in_order.take(in_order.inbox.owner, 1);
  in_order.claim(1, 8);
  in_order.expire();
  in_order.take(in_order.inbox.owner, 2);
  SECTION("after one, its first half") {
    const auto claimed = in_order.claim(2);
    REQUIRE(offsets_of(claimed) == Texts{"{[0,4)}"});
    CHECK(claimed.claimed.runs[0].claims == 2);
    CHECK(state_of(claimed) == State::more);
  }
  SECTION("after two, a quarter") {
    in_order.database().run("update inbox.delivery set claims = 2 where lower(pending) = 0");
    REQUIRE(offsets_of(in_order.claim(2)) == Texts{"{[0,2)}"});
  }
  SECTION("not behind others") {
    in_order.database().run("update inbox.delivery set claims = 8 - claims * 8 where lower(pending) in (0, 8)");
    const auto claimed = in_order.claim(2);
    REQUIRE(offsets_of(claimed) == Texts{"{[0,8)}"});
    CHECK(state_of(claimed) == State::more);
  }
  SECTION("not while suspects may not run") {
    in_order.most_claims = 0;
    const auto claimed = in_order.claim(2);
    REQUIRE(offsets_of(claimed).empty());
    CHECK(state_of(claimed) == State::waits);
  }
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

// ---- lanes

TEST_CASE("a failed event begins a lane; waiting events follow it one row after the other") {
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
  CHECK(in_order.claim_lanes().claimed.runs.empty());  // one row at a time
  REQUIRE(in_order.settle(Outcome{head.claimed.runs[0]}.done({0}).out));
  CHECK(in_order.lane_rows() == "{[2,3),[4,5)} due, {[7,8)}");

  const auto second = in_order.claim_lanes();
  REQUIRE(offsets_of(second) == Texts{"{[2,3),[4,5)}"});
  REQUIRE(in_order.settle(Outcome{second.claimed.runs[0]}.retry(2, hour).wait({4}).out));
  CHECK(in_order.lane_rows() == "{[2,3)} due, {[4,5)}, {[7,8)}");
  in_order.make_due();
  const auto third = in_order.claim_lanes();
  REQUIRE(offsets_of(third) == Texts{"{[2,3)}"});
  CHECK(third.claimed.runs[0].attempts == 1);
  REQUIRE(in_order.settle(Outcome{third.claimed.runs[0]}.dead(2, Kind::dead).out));
  CHECK(in_order.lane_rows() == "{[4,5)} due, {[7,8)}");
  for (const std::int64_t offset : {4, 7}) {
    const auto next = in_order.claim_lanes();
    REQUIRE(next.claimed.runs.size() == 1);
    REQUIRE(in_order.settle(Outcome{next.claimed.runs[0]}.done({offset}).out));
  }
  CHECK(in_order.database().number("select count(*) from inbox.delivery") == 0);
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

TEST_CASE("a lane's row that was in flight at a crash is claimed in parts, the rest behind them") {
  InOrder in_order;
  in_order.store(5);
  in_order.take(in_order.inbox.owner, 1);
  const auto log = in_order.claim();
  REQUIRE(in_order.settle(Outcome{log.claimed.runs[0]}.done({0}).wait({1, 2, 3, 4}).out));
  CHECK(in_order.lane_rows() == "{[1,5)} due");
  in_order.claim_lanes();
  in_order.expire();
  in_order.take(in_order.inbox.owner, 2);
  const auto half = in_order.claim_lanes(2);
  REQUIRE(offsets_of(half) == Texts{"{[1,3)}"});
  CHECK(in_order.lane_rows() == "{[1,3)} leased, {[3,5)}");
  REQUIRE(in_order.settle(Outcome{half.claimed.runs[0]}.done({1, 2}).out));
  CHECK(in_order.lane_rows() == "{[3,5)} due");
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
