// Housekeeping that has much to do: it takes its time, and nothing else of it waits.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <ctime>

#include "process/support/stage.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The sign of life comes every ten seconds, the first at the start.
constexpr const char* lives_while = "select count(*) from inbox.instance where last_seen_at > started_at + interval "
                                    "'5 seconds' and ";

}  // namespace

TEST_CASE("while a long history becomes deliveries, the daemon says that it lives, and the backlog is seen to move") {
  Stage stage{1};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  stage.migrate();
  // Events so far apart that each is a bite of its own, of a tenth of a second.
  stage.database.run(
      "select inbox.make_partitions(1); insert into inbox.shard (topic, partition) values ('history', 0); "
      "insert into inbox.position (shard_id, epoch, first_offset, next_offset, routing_version) "
      "select shard_id, 0, 0, 4000000, 1 from inbox.shard; "
      "insert into inbox.event (shard_id, \"offset\", event_id, event_type, payload, received_at) "
      "select shard_id, n * 10000, gen_random_uuid(), 'Happened', '{}', now() "
      "from inbox.shard, generate_series(0, 399) n; "
      "create function inbox.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.1); return null; "
      "end $$; "
      "create trigger slow after insert on inbox.delivery execute function inbox.slow()");
  const auto daemon = stage.start();
  stage.database.wait_for("it says that it lives while history is left",
                          std::string{lives_while} + "exists (select from inbox.backfill)", 1);
  const double left = gauge(port, "inboxd_backfill_offsets{handler=\"recorder\"}");
  CHECK(left > 0);
  CHECK(left < 4'000'000);
  CHECK(daemon->count_in_log("history became deliveries") == 0);
  stage.database.run("drop trigger slow on inbox.delivery");
  stage.database.wait_for("all is done", "select coalesce(sum(inbox.count_of(offsets)), 0)::int from inbox.outcome",
                          400);
  daemon->wait_log("history became deliveries of new handlers events=400");
}

TEST_CASE("while many days are dropped, the daemon says that it lives, and a stop does not wait for the rest") {
  PrivatePostgres server;
  Stage stage{1, server.url()};
  stage.migrate();
  stage.database.run(
      "do $$ declare d date; begin for d in select generate_series('2020-01-01'::date, '2020-05-01', '1 day') loop "
      "execute format('create table inbox.failure_%s partition of inbox.failure for values from (%L) to (%L)', "
      "to_char(d, 'YYYYMMDD'), d || ' 00:00:00+00', d + 1 || ' 00:00:00+00'); end loop; end $$; "
      "create function inbox.slow() returns event_trigger language plpgsql as $$ begin perform pg_sleep(0.4); end $$; "
      "create event trigger slow on sql_drop execute function inbox.slow()");
  const std::string old_days = "select from pg_class where relname like 'failure_2020%'";
  stage.config.sections["retention"] = "failures: 24h";
  {
    const auto daemon = stage.start();
    stage.database.wait_for("it says that it lives while days are left",
                            std::string{lives_while} + "exists (" + old_days + ")", 1);
    const auto began = std::chrono::steady_clock::now();
    CHECK(daemon->stop() == ExitStatus{0, 0});
    CHECK(std::chrono::steady_clock::now() - began < milliseconds{5'000});
    CHECK(stage.database.number("select count(*) from (" + old_days + ") x") > 0);
  }
  stage.database.run("drop event trigger slow");
  const auto daemon = stage.start();
  stage.database.wait_for("the rest goes", "select count(*) from (" + old_days + ") x", 0);
}

TEST_CASE("an operator reads which day is kept past its retention, and for which handler") {
  Stage stage{1};
  stage.config.sections["retention"] = "events: 24h";
  const auto before = stage.start();
  CHECK(before->stop() == ExitStatus{0, 0});
  stage.database.run(
      "create table inbox.event_20200101 partition of inbox.event for values from ('2020-01-01 00:00:00+00') to "
      "('2020-01-02 00:00:00+00'); insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, "
      "received_from, received_to) select handler_id, 1, '{[0,1)}', 1, now() + interval '1 day', "
      "'2020-01-01 12:00:00+00', '2020-01-01 12:00:00+00' from inbox.handler");
  const auto daemon = stage.start();
  daemon->wait_log("a day is past its retention and kept");
  daemon->wait_log("partition=event_20200101 handlers=recorder");
  stage.database.run("delete from inbox.delivery");
}

TEST_CASE("a day that is missing is an alarm, and nothing is lost: what waits is stored once the day is there") {
  Stage stage{1};
  const auto daemon = stage.start();
  // Behind the chore that makes days, which comes again in ten minutes.
  stage.database.wait_for("each chore has had its turn",
                          "select count(*) from inbox.ledger_trim where day > '-infinity'", 1);
  stage.database.run(
      "do $$ declare day text; begin for day in select inhrelid::regclass::text from pg_inherits "
      "where inhparent = 'inbox.event'::regclass loop execute 'drop table ' || day; end loop; end $$");
  stage.produce(10);
  daemon->wait_log("ingest: the database refuses the batch; nothing is lost, it is tried again");
  CHECK_THAT(daemon->log(), ContainsSubstring("sqlstate=23514"));
  CHECK(stage.database.number("select count(*) from inbox.quarantine") == 0);
  CHECK(stage.database.number("select max(next_offset) from inbox.position") == 0);
  CHECK(stage.kafka.members(stage.config.group).size() == 1);
  stage.database.run("select inbox.make_partitions(1)");
  CHECK(stage.wait_done().is_perfect());
}

TEST_CASE("a count that fails is no database that is away: its figures are missing, and the database answers") {
  Stage stage{1};
  const int port = free_port();
  stage.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  stage.migrate();
  stage.database.run("alter table inbox.quarantine rename to elsewhere");
  const auto daemon = stage.start();
  wait_until("days are made for a week", [&] {
    return gauge(port, "inboxd_day_partitions_until_timestamp_seconds") > double(std::time(nullptr)) + 6 * 86'400;
  });
  wait_until("the database answers", [&] { return gauge(port, "inboxd_database_last_answer_timestamp_seconds") > 0; });
  daemon->wait_log("maintenance: tried again later");
  CHECK(gauge(port, "inboxd_observed_timestamp_seconds") == -1);
  stage.database.run("alter table inbox.elsewhere rename to quarantine");
  wait_until("it is counted again", [&] { return gauge(port, "inboxd_observed_timestamp_seconds") > 0; });
}
