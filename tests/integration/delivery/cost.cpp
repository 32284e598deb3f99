// Cost of claims and settles with many dead rows or many deliveries.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A handler with pending events of a shard, each in its own delivery: the most expensive case.
struct PendingDeliveries {
  void add(int events) {
    Batch batch{inbox};
    batch.at(shard, next).events(events);
    for (int i = 0; i < events; ++i) {
      batch.get().runs.push_back({handler, shard, event::OffsetSet{{next + i, next + i + 1}}, milliseconds{0}});
    }
    batch.store(inbox.connection());
    next += events;
  }
  /// Claims, renews and settles up to `most` deliveries; returns their number.
  int work_off(inbox::Connection& connection, int retried, int most = 1000) {
    const auto reading = inbox::read_due(connection, handler, low_water, false);
    low_water = reading.earliest.value_or(reading.now);
    inbox::ClaimRequest request;
    request.handler_id = handler;
    request.owner = inbox.owner;
    request.lease = milliseconds{1};  // dead rows lie before the low-water mark at once: the worst case for the index
    request.events = 1'000'000;
    request.rows = most;
    request.not_before = low_water;
    const auto claimed = inbox::claim(connection, request);
    std::vector<inbox::Settlement> settlements;
    for (const auto& run : claimed.runs) {
      settlements.push_back(all_done(run));
      if (retried-- <= 0) continue;
      settlements.back().done = {};
      settlements.back().retries = {{run.pending, milliseconds{0}, "no"}};
    }
    std::vector<inbox::LeaseKey> keys;
    for (const auto& run : claimed.runs) keys.push_back(run.key);
    CHECK(inbox::renew(connection, inbox.owner, keys, milliseconds{1}) == static_cast<std::int64_t>(keys.size()));
    CHECK(inbox::settle(connection, inbox.owner, settlements).empty());
    return static_cast<int>(claimed.runs.size());
  }
  /// Blocks of table delivery and its indexes that `work` reads on that connection. Closes the connection: the end of a
  /// session publishes its statistics.
  std::int64_t blocks_of(inbox::Connection& connection, const std::function<void()>& work) {
    const std::string sql =
        "select heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read from "
        "pg_statio_user_tables where relid = 'inbox.delivery'::regclass";
    inbox.end_sessions(connection.is_open() ? 1 : 0);
    const auto before = inbox.database().number(sql);
    work();
    connection.close();
    std::int64_t after = before;
    wait_until("the statistics are seen", [&] { return (after = inbox.database().number(sql)) > before; });
    return after - before;
  }

  Inbox inbox;
  const std::int32_t handler = inbox.add_handler("receipt");
  const std::int32_t shard = inbox.add_shard("orders");
  std::int64_t next = 0;
  std::optional<event::Microseconds> low_water = {};  // no other session writes here: it may move at once
};

}  // namespace

// fault: long foreign snapshot pins vacuum
TEST_CASE("an old snapshot that blocks vacuum makes neither claims nor settles expensive") {
  PendingDeliveries deliveries;
  Inbox& inbox = deliveries.inbox;
  const auto blocks_of_ten = [&] {
    deliveries.add(10);
    const auto connection = inbox.connect();
    return deliveries.blocks_of(*connection, [&] {
      CHECK(deliveries.work_off(*connection, 5) == 10);
      CHECK(deliveries.work_off(*connection, 0) == 5);
    });
  };

  const auto fresh = blocks_of_ten();
  Session pinned{inbox.database().url(), inbox.database().schema()};
  pinned.run("begin isolation level repeatable read; select count(*) from inbox.event");
  for (int i = 0; i < 10; ++i) {
    deliveries.add(500);
    CHECK(deliveries.work_off(inbox.connection(), 100) == 500);
    CHECK(deliveries.work_off(inbox.connection(), 0) == 100);
  }
  inbox.database().run("vacuum analyze inbox.delivery");  // the table holds dead rows only
  const auto pinned_down = blocks_of_ten();
  WARN("blocks of table delivery read to work off 10 events: " << fresh << " fresh, " << pinned_down
                                                               << " over 6000 dead rows that an old snapshot keeps");
  CHECK(pinned_down < 2 * fresh);

  const auto culprit = inbox::find_oldest_transaction(inbox.connection());
  REQUIRE(culprit.has_value());
  CHECK(culprit->process_id > 0);
}

TEST_CASE("plans made for few deliveries make neither claims nor settles of many deliveries expensive") {
  PendingDeliveries deliveries;
  Inbox& inbox = deliveries.inbox;
  inbox.database().run("alter table inbox.delivery set (autovacuum_enabled = off)");  // the planner is told nothing
  const auto work_off_ten = [&](inbox::Connection& connection, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      CHECK(deliveries.work_off(connection, 5, 10) == 10);
    }
  };
  const auto connect = [&] {
    auto connection = inbox.connect();
    connection->prefer_indexes();
    return connection;
  };
  inbox.database().run("vacuum inbox.delivery");
  const auto kept = connect();
  for (int i = 0; i < 6; ++i) {  // PostgreSQL keeps a plan after five calls; these reads count with the rest
    deliveries.add(1);
    CHECK(deliveries.work_off(*kept, 1) == 1);
    CHECK(deliveries.work_off(*kept, 0) == 1);
  }
  for (int i = 0; i < 10; ++i) deliveries.add(10'000);
  const auto with_kept = deliveries.blocks_of(*kept, [&] { work_off_ten(*kept, 5); });
  const auto second = connect();
  const auto with_new = deliveries.blocks_of(*second, [&] { work_off_ten(*second, 5); });
  WARN("blocks of table delivery read to work off 50 of 100000 events: " << with_kept << " by plans from before, "
                                                                         << with_new << " by new ones");
  CHECK(with_kept < 5 * with_new);
}

// fault: a million leased rows of a lost instance
TEST_CASE("hundreds of thousands of rows with expired leases are claimed in bounded steps") {
  Inbox inbox;
  const auto handler = std::to_string(inbox.add_handler("receipt"));
  const auto shard = std::to_string(inbox.add_shard("orders"));
  inbox.database().run("alter table inbox.delivery set (autovacuum_enabled = off)");  // the planner knows nothing
  inbox.database().run(
      "insert into inbox.delivery (handler_id, shard_id, pending, events, claims, fence, owner, due_at, received_from, "
      "received_to) select $1::int, $2::int, int8multirange(int8range(i, i + 1)), 1, 1, 7, $3::uuid, "
      "clock_timestamp() - interval '1 s', now(), now() from generate_series(0, 299999) i",
      {handler, shard, base::random_uuid().text()});
  std::int64_t most = 0;
  for (int bite = 0; bite < 10; ++bite) {
    const auto plan = inbox.database().rows(
        "explain (analyze, buffers, costs off, timing off, summary off) select * from inbox.claim($1::int, $2::uuid, "
        "8, '1 min', 1000, 100, '-infinity')",
        {handler, inbox.owner.text()});
    most = std::max(most, blocks_read(plan));
  }
  WARN("at most " << most << " blocks read to take 100 of 300000 rows");
  CHECK(most < 5000);  // about thirty per row, some of the catalog; the table and its index have ten thousand
  CHECK(inbox.database().number("select count(*) from inbox.delivery where owner = $1::uuid", {inbox.owner.text()}) ==
        1000);
}

TEST_CASE("a claim reads only the day partitions in which its runs were received, and so does dead-lettering") {
  Inbox inbox;
  inbox::make_partitions(inbox.connection(), 28);
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(10).deliver_to(handler).store(inbox.connection());
  inbox.database().run("update inbox.delivery set received_from = received_from - interval '1 day'");
  const std::string days =
      "from pg_stat_user_tables t join pg_inherits i on i.inhrelid = t.relid "
      "where i.inhparent = 'inbox.event'::regclass and i.inhrelid <> 'inbox.event_kept'::regclass";
  REQUIRE(inbox.database().number("select count(*) " + days) == 30);
  std::int64_t scans = 0;
  const auto days_read = [&] {
    inbox.connection().close();  // the end of a session publishes its statistics
    const auto before = scans;
    wait_until("its statistics are seen", [&] {
      scans = inbox.database().number("select sum(idx_scan) " + days);
      return scans > before && !inbox.has_sessions();
    });
    return inbox.database().number("select count(*) " + days + " and t.idx_scan > 0");
  };

  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(events_in(claimed.runs) == 10);
  CHECK(days_read() == 2);

  const auto& run = claimed.runs.front();
  inbox::Settlement dead;
  dead.key = run.key;
  for (const auto* event : run.events) dead.dead.push_back({event->offset, event->event_id});
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {dead}).empty());
  CHECK(days_read() == 2);
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 10);
}
