#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <ctime>

#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The heartbeat is written every five seconds, first at the start.
constexpr const char* heartbeat_while =
    "select count(*) from inbox.instance where last_seen_at > started_at + interval "
    "'5 seconds' and ";

}  // namespace

TEST_CASE("during a long back-fill the daemon writes its heartbeat, and the backlog shows progress") {
  DaemonFixture fixture{1};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  fixture.migrate();
  fixture.final_verify.skip("inserts events without their ids");
  // Events so far apart that each is a step of its own, of a tenth of a second.
  fixture.database.run(
      "select inbox.make_partitions(1); insert into inbox.shard (topic, partition) values ('history', 0); "
      "insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
      "select shard_id, 0, 0, 4000000, 1 from inbox.shard; "
      "insert into inbox.event (shard_id, \"offset\", event_id, event_type, payload, received_at) "
      "select shard_id, n * 10000, gen_random_uuid(), 'Happened', '{}', now() "
      "from inbox.shard, generate_series(0, 399) n; "
      "create function inbox.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.1); return null; "
      "end $$; "
      "create trigger slow after insert on inbox.delivery execute function inbox.slow()");
  const auto daemon = fixture.start();
  fixture.database.wait_for("a heartbeat is written during the back-fill",
                            std::string{heartbeat_while} + "exists (select from inbox.backfill)", 1);
  const auto left = [&] { return gauge(port, "inboxd_backfill_offsets{handler=\"recorder\"}"); };
  wait_until("the backlog is seen to move", [&] { return left() > 0 && left() < 4'000'000; });
  CHECK(daemon->count_in_log("kind=maintenance.backfilled") == 0);
  fixture.database.run("drop trigger slow on inbox.delivery");
  fixture.database.wait_for("all is done", "select coalesce(sum(inbox.count_of(offsets)), 0)::int from inbox.outcome",
                            400);
  daemon->wait_log(" events=400 dead_letters_answered=0 kind=maintenance.backfilled");
}

TEST_CASE(
    "while many days are dropped the daemon writes its heartbeat, and a stop does not wait for the rest",
    "[alone]") {
  PrivatePostgres server;
  DaemonFixture fixture{1, server.url()};
  fixture.migrate();
  fixture.database.run(
      "do $$ declare d date; begin for d in select generate_series('2020-01-01'::date, '2020-05-01', '1 day') loop "
      "execute format('create table inbox.failure_%s partition of inbox.failure for values from (%L) to (%L)', "
      "to_char(d, 'YYYYMMDD'), d || ' 00:00:00+00', d + 1 || ' 00:00:00+00'); end loop; end $$; "
      "create function inbox.slow() returns event_trigger language plpgsql as $$ begin perform pg_sleep(0.4); end $$; "
      "create event trigger slow on sql_drop execute function inbox.slow()");
  const std::string old_days = "select from pg_class where relname like 'failure_2020%'";
  fixture.config.sections["retention"] = "failures: 24h";
  {
    const auto daemon = fixture.start();
    fixture.database.wait_for("a heartbeat is written while days are dropped",
                              std::string{heartbeat_while} + "exists (" + old_days + ")", 1);
    const auto began = std::chrono::steady_clock::now();
    CHECK(daemon->stop() == ExitStatus{0, 0});
    CHECK(std::chrono::steady_clock::now() - began < milliseconds{5'000});
    CHECK(fixture.database.number("select count(*) from (" + old_days + ") x") > 0);
  }
  fixture.database.run("drop event trigger slow");
  const auto daemon = fixture.start();
  fixture.database.wait_for("the rest goes", "select count(*) from (" + old_days + ") x", 0);
}

TEST_CASE("the log names a day that is kept past its retention, and its handler") {
  DaemonFixture fixture{1};
  fixture.config.sections["retention"] = "events: 24h";
  const auto before = fixture.start();
  CHECK(before->stop() == ExitStatus{0, 0});
  fixture.database.run(
      "create table inbox.event_20200101 partition of inbox.event for values from ('2020-01-01 00:00:00+00') to "
      "('2020-01-02 00:00:00+00'); insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, "
      "received_from, received_to) select handler_id, 1, '{[0,1)}', 20000, now() + interval '1 day', "
      "'2020-01-01 12:00:00+00', '2020-01-01 12:00:00+00' from inbox.handler");
  const auto daemon = fixture.start();
  daemon->wait_log("kind=maintenance.day_kept");
  daemon->wait_log("partition=event_20200101 handlers=recorder");
  fixture.database.run("delete from inbox.delivery");
}

TEST_CASE("a missing day raises an alarm and loses nothing: records are stored once the day exists") {
  DaemonFixture fixture{1};
  fixture.migrate();
  fixture.database.run(
      "insert into inbox.ledger values (gen_random_uuid(), 1, 1, 1, 1, now()); "
      "update inbox.ledger_generation set began_at = now() - interval '1 year'");
  const auto daemon = fixture.start();
  // After the task that makes days, which runs again in ten minutes: the task after it freezes the generation.
  fixture.database.wait_for("each task has had its turn",
                            "select count(*) from inbox.ledger_generation where frozen_at is not null", 1);
  fixture.database.run(
      "do $$ declare day text; begin for day in select inhrelid::regclass::text from pg_inherits "
      "where inhparent = 'inbox.event'::regclass and inhrelid <> 'inbox.event_kept'::regclass "
      "loop execute 'drop table ' || day; end loop; end $$");
  fixture.produce(10);
  daemon->wait_log("kind=ingest.batch_refused");
  CHECK_THAT(daemon->log(), ContainsSubstring("sqlstate=23514"));
  CHECK(fixture.database.number("select count(*) from inbox.quarantine") == 0);
  CHECK(fixture.database.number("select max(next_offset) from inbox.position") == 0);
  CHECK(fixture.kafka.members(fixture.config.group).size() == 1);
  fixture.database.run("select inbox.make_partitions(1)");
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("a failing count only hides its figures: the database still counts as reachable") {
  DaemonFixture fixture{1};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  fixture.migrate();
  fixture.database.run("alter table inbox.quarantine rename to elsewhere");
  const auto daemon = fixture.start();
  wait_until("days are made for a week", [&] {
    return gauge(port, "inboxd_day_partitions_until_timestamp_seconds") > double(std::time(nullptr)) + 6 * 86'400;
  });
  wait_until("the database answers", [&] { return gauge(port, "inboxd_database_last_answer_timestamp_seconds") > 0; });
  daemon->wait_log("kind=maintenance.chore_failed");
  CHECK(gauge(port, "inboxd_observed_timestamp_seconds") == -1);
  fixture.database.run("alter table inbox.elsewhere rename to quarantine");
  wait_until("it is counted again", [&] { return gauge(port, "inboxd_observed_timestamp_seconds") > 0; });
}
