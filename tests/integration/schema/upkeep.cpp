#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "integration/support/inbox.hpp"
#include "support/fake_standby.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// An event of topic `orders` without deliveries, of a day long ago, and a handler of topic `audit` alone.
struct EventOnTwoTopics {
  EventOnTwoTopics() {
    Batch first{inbox};
    first.at(inbox.add_shard("orders"), 0).event(id, "ten euros").store(inbox.connection());
    make_old_day(inbox);
    again.at(inbox.add_shard("audit"), 0).event(id, "ten euros", "Paid").deliver_to(handler);
    event::Event& event = again.get().events.back();
    event.source_id = "order-7";
    event.source = "shop";
    event.subject = "order";
    event.key = "k7";
    event.occurred_at = 5'000'000;
    event.kafka_timestamp = 6'000'000;
  }
  std::optional<std::string> drop() {
    return inbox::drop_partition(inbox.connection(), "event", std::chrono::hours{24});
  }

  Inbox inbox;
  const std::int32_t handler = inbox.add_handler("of-audit", {"audit"});
  const base::Uuid id = base::random_uuid();
  Batch again{inbox};
};

}  // namespace

TEST_CASE("day partitions are created ahead, once, in any time zone of the session") {
  Inbox inbox;
  CHECK(inbox::make_partitions(inbox.connection(), 2) == 0);
  CHECK(inbox::make_partitions(inbox.connection(), 5) == 9);
  auto settings = inbox.settings();
  settings.url += "?options=-c%20timezone%3DPacific/Kiritimati";
  const auto elsewhere = inbox.connect(settings);
  CHECK(inbox::make_partitions(*elsewhere, 5) == 0);
}

TEST_CASE("days reach to the first day that a table lacks, in any time zone of the session") {
  Inbox inbox;  // two days beyond today exist
  const auto today = inbox.database().number("select extract(epoch from (now() at time zone 'UTC')::date)::bigint");
  constexpr std::int64_t day = 86'400;
  CHECK(inbox::days_made_until(inbox.connection()) == today + 3 * day);
  inbox::make_partitions(inbox.connection(), 5);
  auto settings = inbox.settings();
  settings.url += "?options=-c%20timezone%3DPacific/Kiritimati";
  const auto elsewhere = inbox.connect(settings);
  CHECK(inbox::days_made_until(*elsewhere) == today + 6 * day);
  inbox.database().run(
      "do $$ begin execute 'drop table inbox.outcome_' || to_char((now() at time zone 'UTC')::date + 1, 'YYYYMMDD'); "
      "end $$");
  CHECK(inbox::days_made_until(inbox.connection()) == today + day);
}

TEST_CASE("a day past its retention is dropped, but not while many of its events are pending") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(5).deliver_to(handler);
  batch.store(inbox.connection());
  make_old_day(inbox);
  inbox.database().run("update inbox.delivery set events = 10001");

  CHECK_FALSE(inbox::drop_partition(inbox.connection(), "event", 24h).has_value());
  const auto kept = inbox::find_kept_day(inbox.connection(), 24h);
  REQUIRE(kept.has_value());
  CHECK(kept->partition == "event_20200101");
  CHECK(kept->handlers == "receipt");
  CHECK_FALSE(inbox::find_kept_day(inbox.connection(), 24h * 365 * 100).has_value());
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(claimed.runs.size() == 1);
  CHECK(claimed.runs[0].events.size() == 5);
  inbox::settle(inbox.connection(), inbox.owner, {all_done(claimed.runs[0])});
  CHECK(inbox::drop_partition(inbox.connection(), "event", 24h) == "event_20200101");
  CHECK_FALSE(inbox::drop_partition(inbox.connection(), "event", 24h).has_value());
  CHECK(inbox.database().number("select count(*) from inbox.event") == 0);

  Batch again{inbox};  // the event is purged; its redelivery is still absorbed
  again.at(shard, 5).event(batch.events()[0].event_id).deliver_to(handler);
  CHECK(again.store(inbox.connection()).duplicates == 1);
}

TEST_CASE("a delivery from another topic keeps its event, and none of another day") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto handler = inbox.add_handler("of-audit", {"audit"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  const bool is_old = GENERATE(true, false);
  const auto drop = [&] { return inbox::drop_partition(inbox.connection(), "event", 24h); };
  Batch first{inbox};
  first.at(orders, 0).event(id).store(inbox.connection());
  if (!is_old) inbox.database().run("create table inbox.today as select * from inbox.event");
  make_old_day(inbox);
  if (is_old) {
    inbox.database().run("update inbox.ledger set received_at = '2020-01-01'");
  } else {
    inbox.database().run(
        "insert into inbox.event select * from inbox.today; delete from inbox.event_20200101; drop table inbox.today");
  }
  Batch second{inbox};
  second.at(audit, 0).event(id);
  CHECK(second.store(inbox.connection()).duplicates == 1);
  CHECK(inbox.database().number("select count(*) from inbox.delivery") == 1);
  CHECK(drop() == "event_20200101");
  CHECK(inbox.database().number("select count(*) from inbox.event_kept") == (is_old ? 1 : 0));
  if (!is_old) return;
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(events_in(claimed.runs) == 1);
  CHECK(claimed.empty.empty());
}

TEST_CASE("an id whose day was dropped is delivered whole, once, to another topic's handlers") {
  EventOnTwoTopics test;
  Inbox& inbox = test.inbox;
  const auto of_orders = inbox.add_handler("of-orders", {"orders"});
  test.again.get().routing_version = inbox.routing_version();
  REQUIRE(test.drop() == "event_20200101");

  CHECK(test.again.store(inbox.connection()).duplicates == 1);
  const auto claimed = claim_due(inbox.connection(), test.handler, inbox.owner);
  CHECK(claimed.empty.empty());
  REQUIRE(events_in(claimed.runs) == 1);
  const event::Event& event = *claimed.runs[0].events[0];
  CHECK(event.event_id == test.id);
  CHECK(event.payload == "ten euros");
  CHECK(inbox.database().text("select concat_ws(' ', source_id, topic, \"offset\", event_type, source, subject, "
                              "encode(key, 'escape'), extract(epoch from occurred_at)::int) from inbox.events") ==
        "order-7 orders 0 Paid shop order k7 5");
  CHECK(inbox.database().number("select extract(epoch from kafka_timestamp)::int from inbox.event") == 6);
  CHECK(inbox.database().number("select count(*) from inbox.event where received_at > now() - interval '1 hour'") == 1);
  CHECK_FALSE(test.drop().has_value());
  inbox::settle(inbox.connection(), inbox.owner, {all_done(claimed.runs[0])});

  Batch third{inbox};
  third.at(inbox.add_shard("audit", 1), 0)
      .event(test.id, "ten euros")
      .deliver_to(test.handler)
      .store(inbox.connection());
  CHECK(inbox.pending_events() == 0);
  CHECK(claim_due(inbox.connection(), of_orders, inbox.owner).runs.empty());
  CHECK(inbox.database().number("select count(*) from inbox.event") == 1);
}

TEST_CASE("a day is not dropped before the delivery of its event from another topic is visible") {
  EventOnTwoTopics test;
  Inbox& inbox = test.inbox;
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run(
      "begin; insert into inbox.also_seen (event_id, topic, event_type, shard_id, \"offset\", routing_version) "
      "select event_id, 'audit', 'Paid', shard_id, \"offset\", 1 from inbox.ledger");
  const auto other = inbox.connect();
  std::thread storing{[&] { test.again.store(*other); }};
  wait_for_waiter(inbox);
  CHECK(failure_of([&] { test.drop(); }).fault == inbox::Fault::retry);
  holder.run("rollback");
  storing.join();

  CHECK(test.drop() == "event_20200101");
  const auto claimed = claim_due(inbox.connection(), test.handler, inbox.owner);
  CHECK(events_in(claimed.runs) == 1);
  CHECK(claimed.empty.empty());
}

TEST_CASE("an id that arrives on another topic while its day is dropped is delivered whole, too") {
  EventOnTwoTopics test;
  Inbox& inbox = test.inbox;
  Session dropping{inbox.database().url(), inbox.database().schema()};
  dropping.run("begin; select inbox.drop_partition('event', '1 day', 'event_20200101')");
  const auto other = inbox.connect();
  std::thread storing{[&] { test.again.store(*other); }};
  wait_for_waiter(inbox);
  dropping.run("commit");
  storing.join();

  const auto claimed = claim_due(inbox.connection(), test.handler, inbox.owner);
  CHECK(events_in(claimed.runs) == 1);
  CHECK(claimed.empty.empty());
}

TEST_CASE("a needed day is never locked, and a dropped day is locked in its readers' order") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1).deliver_to(handler).store(inbox.connection());
  make_old_day(inbox);
  inbox.database().run("update inbox.delivery set events = 10001");
  Session reader{inbox.database().url(), inbox.database().schema()};
  reader.run("begin; select count(*) from inbox.event_20200101");
  CHECK_FALSE(inbox::drop_partition(inbox.connection(), "event", 24h).has_value());
  reader.run("rollback");

  inbox.database().run("delete from inbox.delivery");
  reader.run(
      "begin; set local lock_timeout = '100ms'; "
      "select count(*) from inbox.event where received_at >= '2020-01-02 00:00:00+00'");
  std::thread dropping{[&] {
    CHECK(failure_of([&] { inbox::drop_partition(inbox.connection(), "event", 24h); }).fault == inbox::Fault::retry);
  }};
  inbox.database().wait_for(
      "the drop waits", "select count(*) from pg_locks where not granted and relation = 'inbox.event'::regclass", 1);
  CHECK(reader.number("select count(*) from inbox.event") == 1);
  dropping.join();
  reader.run("rollback");
  CHECK(inbox::drop_partition(inbox.connection(), "event", 24h) == "event_20200101");
}

TEST_CASE("creating and dropping days refuses invalid tables, days and retentions") {
  using namespace std::chrono_literals;
  Inbox inbox;
  inbox.add_shard("orders");
  make_old_day(inbox);
  for (const char* table : {"position", ".*", "EVENT", ""}) {
    CHECK(failure_of([&] { inbox::drop_partition(inbox.connection(), table, 24h); }).sqlstate == "22023");
  }
  CHECK(failure_of([&] { inbox::drop_partition(inbox.connection(), "event", -24h); }).sqlstate == "22023");
  for (const char* arguments :
       {"'event', null, 'event_20200101'", "'event', '1 day', 'position'", "'event', '1 day', null",
        "'event', '1 day', 'outcome_20200101'", "null, '1 day', 'event_20200101'"}) {
    CHECK_THROWS(inbox.database().run("select inbox.drop_partition(" + std::string{arguments} + ")"));
  }
  CHECK(inbox.database().text("select coalesce(inbox.drop_partition('event', '100 years', 'event_20200101'), 'no')") ==
        "no");
  CHECK(inbox.database().text("select coalesce(inbox.drop_partition('event', '1 day', 'event_19990101'), 'no')") ==
        "no");
  CHECK(failure_of([&] { inbox::make_partitions(inbox.connection(), 1'000'000); }).sqlstate == "22023");
  CHECK(inbox.database().number("select count(*) from pg_inherits where inhrelid = "
                                "to_regclass('inbox.event_20200101')") == 1);
}

TEST_CASE("a retention of less than a day drops no day that would be created again") {
  Inbox inbox;
  inbox::make_partitions(inbox.connection(), 2);
  for (const char* const table : {"event", "outcome", "failure"}) {
    CHECK_FALSE(inbox::drop_partition(inbox.connection(), table, std::chrono::hours{1}));
  }
}

TEST_CASE("a drop whose check takes long gives up soon, and ingest continues") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  make_old_day(inbox);
  inbox.database().run(  // a second check as slow as with many million runs
      "create or replace function inbox.is_day_needed(p_end timestamptz) returns boolean language plpgsql as $$ begin "
      "if exists (select from pg_locks where pid = pg_backend_pid() and mode = 'AccessExclusiveLock' and relation = "
      "'inbox.event'::regclass) then perform pg_sleep(20); end if; return false; end $$");
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  const auto other = inbox.connect();
  std::thread dropping{[&] {
    CHECK(failure_of([&] { inbox::drop_partition(inbox.connection(), "event", 24h); }).fault == inbox::Fault::retry);
  }};
  inbox.database().wait_for(
      "the table is locked",
      "select count(*) from pg_locks where mode = 'AccessExclusiveLock' and granted and relation = "
      "'inbox.event'::regclass",
      1);
  const auto began = std::chrono::steady_clock::now();
  CHECK(batch.store(*other).stored == 1);
  CHECK(std::chrono::steady_clock::now() - began < 10s);
  dropping.join();
  CHECK(inbox.database().number("select count(*) from pg_inherits where inhrelid = "
                                "to_regclass('inbox.event_20200101')") == 1);
}

TEST_CASE("live instances are told apart from stopped instances") {
  Inbox inbox;
  const inbox::InstanceIdentity one{base::random_uuid(), "host-a", 11};
  const inbox::InstanceIdentity two{base::random_uuid(), "host-b", 22};
  inbox::instance_heartbeat(inbox.connection(), one, false);
  inbox::instance_heartbeat(inbox.connection(), two, false);
  inbox::instance_heartbeat(inbox.connection(), two, true);
  CHECK(inbox.database().text(
            "select string_agg(host || ' ' || (stopped_at is null), ', ' order by host) from inbox.instance") ==
        "host-a true, host-b false");
}

// fault: long foreign snapshot pins vacuum
TEST_CASE("sessions that block vacuum are found: a session that has written, a prepared transaction") {
  PrivatePostgres postgres{{"max_prepared_transactions = 2"}};
  Inbox inbox{postgres.url()};
  const auto find = [&] { return inbox::find_oldest_transaction(inbox.connection()); };
  const std::string write = "update inbox.routing set version = version";
  CHECK_FALSE(find().has_value());

  Session session{postgres.url(), inbox.database().schema()};
  session.run("begin; " + write);  // its snapshot has ended, and it still blocks vacuum
  const auto idle = find();
  REQUIRE(idle.has_value());
  CHECK(idle->holder == "session");
  CHECK(idle->process_id == session.number("select pg_backend_pid()"));
  CHECK(idle->age.has_value());

  session.run("prepare transaction 'forgotten'");
  const auto prepared = find();
  REQUIRE(prepared.has_value());
  CHECK(prepared->holder == "prepared transaction");
  CHECK(prepared->name == "forgotten");
  CHECK(prepared->id == idle->id);
  CHECK(prepared->age.has_value());
  session.run("rollback prepared 'forgotten'");
  CHECK_FALSE(find().has_value());
}

TEST_CASE("a replication slot that blocks vacuum is found, also after its standby has disconnected") {
  PrivatePostgres postgres;
  Inbox inbox{postgres.url()};
  const auto find = [&] { return inbox::find_oldest_transaction(inbox.connection()); };
  Session session{postgres.url(), inbox.database().schema()};
  {
    FakeStandby standby{postgres.url(), "reports"};
    standby.needs(static_cast<std::uint32_t>(session.number("select txid_current() & 4294967295")));
    wait_until("the slot holds a transaction", [&] { return find().has_value(); });
    CHECK(find()->process_id != 0);
  }
  session.wait_for("the standby is gone", "select count(*) from pg_replication_slots where active", 0);
  const auto left = find();
  REQUIRE(left.has_value());
  CHECK(left->holder == "replication slot");
  CHECK(left->name == "reports");
  CHECK(left->process_id == 0);
  CHECK_FALSE(left->age.has_value());
  session.run("select pg_drop_replication_slot('reports')");
  CHECK_FALSE(find().has_value());
}
