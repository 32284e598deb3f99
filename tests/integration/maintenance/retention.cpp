#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

std::optional<std::string> drop_day(Inbox& inbox) { return inbox::drop_partition(inbox.connection(), "event", 24h); }

/// Deletes settled events of dropped days; returns how many.
std::int64_t trim_kept(Inbox& inbox) {
  std::int64_t gone = 0;
  for (const auto& shard : inbox::find_shards_to_trim(inbox.connection())) {
    if (!shard.newest_kept) continue;
    std::optional<std::int64_t> next = 0;
    while (next) {
      const auto bite = inbox::trim_events(inbox.connection(), shard.shard_id, *shard.newest_kept + 1, *next, 2);
      gone += bite.rows;
      next = bite.next;
    }
  }
  return gone;
}

std::int64_t events(Inbox& inbox) { return inbox.database().number("select count(*) from inbox.event"); }

void set_pending(Inbox& inbox, int events) {
  inbox.database().run("update inbox.delivery set events = $1::int", {std::to_string(events)});
}

}  // namespace

TEST_CASE("a dropped day leaves its pending events, which go once they are settled") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto other = inbox.add_handler("audit");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(5, "ten euros").deliver_to(handler).deliver_to(other).events(20);
  batch.store(inbox.connection());
  make_old_day(inbox);

  CHECK(drop_day(inbox) == "event_20200101");
  CHECK(events(inbox) == 5);
  CHECK(trim_kept(inbox) == 0);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(events_in(claimed.runs) == 5);
  CHECK(claimed.runs[0].events[4]->payload == "ten euros");
  inbox::settle(inbox.connection(), inbox.owner, {all_done(claimed.runs[0])});
  CHECK(trim_kept(inbox) == 0);  // pending for the other handler
  const auto rest = claim_due(inbox.connection(), other, inbox.owner);
  inbox::Settlement three;
  three.key = rest.runs[0].key;
  three.done.add({0, 3});
  inbox::settle(inbox.connection(), inbox.owner, {three});
  CHECK(trim_kept(inbox) == 3);
  CHECK(inbox.database().text("select string_agg(\"offset\"::text, ' ' order by \"offset\") from inbox.event") ==
        "3 4");
}

TEST_CASE("pending events of several days are kept together, with the times at which they were received") {
  Inbox inbox;
  const bool has_key_index = GENERATE(false, true);  // sql/README.md
  if (has_key_index) {
    inbox.database().run("create index event_key on inbox.event (substr(key, 1, 256), received_at)");
  }
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  for (const std::int64_t day : {0, 1, 2}) {
    Batch batch{inbox};
    batch.at(shard, day * 3).events(2).deliver_to(handler).events(1).store(inbox.connection());
    make_old_day(inbox, "2020-01-0" + std::to_string(day + 1));
    CHECK(drop_day(inbox) == "event_2020010" + std::to_string(day + 1));
  }
  CHECK(inbox.database().text("select string_agg(to_char(received_at at time zone 'UTC', 'DD') || ':' || \"offset\", "
                              "' ' order by \"offset\") from inbox.event_kept") == "01:0 01:1 02:3 02:4 03:6 03:7");
  inbox.database().run("select inbox.make_partitions(20)");
  const auto days =
      inbox.database().number("select count(*) from pg_inherits where inhparent = 'inbox.event'::regclass");
  CHECK(inbox.database().number("select count(*) from pg_inherits where inhparent = to_regclass('inbox.event_key')") ==
        (has_key_index ? days : 0));
  CHECK(inbox.database().number("select count(*) from pg_index where indexrelid = to_regclass('inbox.event_key') and "
                                "indisvalid") == has_key_index);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 6);
}

TEST_CASE("a day with many pending events stays whole, and the pending events of later days stay in theirs") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(2).deliver_to(handler).events(1).store(inbox.connection());
  set_pending(inbox, 10'001);
  make_old_day(inbox, "2020-01-01");
  Batch second{inbox};
  second.at(shard, 3).events(2).deliver_to(handler).events(1).store(inbox.connection());
  make_old_day(inbox, "2020-01-02");
  Batch third{inbox};
  third.at(shard, 6).events(1).store(inbox.connection());
  make_old_day(inbox, "2020-01-03");

  CHECK(drop_day(inbox) == "event_20200103");
  CHECK_FALSE(drop_day(inbox).has_value());
  CHECK(events(inbox) == 6);
  const auto kept = inbox::find_kept_day(inbox.connection(), 24h);
  REQUIRE(kept.has_value());
  CHECK(kept->partition == "event_20200101");
  set_pending(inbox, 2);
  CHECK(drop_day(inbox) == "event_20200101");
  CHECK(drop_day(inbox) == "event_20200102");
  CHECK(events(inbox) == 4);
}

TEST_CASE("dead, parked and quarantined records outlive their day, and a replay delivers the events") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(3, "ten euros").deliver_to(handler).reject("no_id").store(inbox.connection());
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  inbox::Settlement settlement;
  settlement.key = claimed.runs.at(0).key;
  settlement.whole = true;
  for (const auto* event : claimed.runs[0].events) settlement.dead.push_back({event->offset, event->event_id});
  REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  inbox.database().run("update inbox.dead_letter set state = 'parked' where \"offset\" = 2");
  make_old_day(inbox);

  CHECK(drop_day(inbox) == "event_20200101");
  CHECK(events(inbox) == 0);
  CHECK(inbox.database().number("select count(*) from inbox.quarantine") == 1);
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 3);
  inbox.database().run("select inbox.replay_dead(array_agg(dead_letter_id), false, 100) from inbox.dead_letter");
  const auto again = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(events_in(again.runs) == 3);
  CHECK(again.runs[0].events[0]->payload == "ten euros");
}

// fault: partition drop waits for a lock
TEST_CASE("while days with pending events are dropped, no batch takes a second") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  std::int64_t next = 0;
  for (int day = 1; day <= 6; ++day) {
    for (int i = 0; i < 10; ++i, next += 1000) {
      Batch batch{inbox};
      batch.at(shard, next).events(500).deliver_to(handler).events(500).store(inbox.connection());
    }
    make_old_day(inbox, "2020-01-0" + std::to_string(day));
  }
  std::atomic<bool> is_over = false;
  int days = 0;
  std::jthread dropping{[&, connection = inbox.connect()] {
    while (inbox::drop_partition(*connection, "event", 24h)) ++days;
    is_over = true;
  }};
  auto longest = 0ns;
  int batches = 0;
  for (; !is_over; next += 100, ++batches) {
    Batch batch{inbox};
    batch.at(shard, next).events(100);
    const auto began = std::chrono::steady_clock::now();
    batch.store(inbox.connection());
    longest = std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - began);
  }
  dropping.join();
  WARN("longest of " << batches << " batches: " << longest / 1ms << " ms");
  CHECK(days == 6);
  CHECK(longest < 1s);
  CHECK(inbox.database().number("select count(*) from inbox.event_kept") == 30'000);
}
