// What fails in a handler's SQL: whom it is charged to, with what words, and what stays of the others.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::string> one_attempt{"events_per_call: 500", "concurrency: 1", "retry: {max_attempts: 1}"};

std::int64_t failures(Stage& stage) { return stage.database.number("select count(*) from inbox.failures"); }

/// Of so many events one fails, once, in this way; all others are booked, once.
void one_is_charged(Stage& stage, Application& app, std::int64_t events, const std::string& error_class) {
  stage.database.wait_for("the culprit is dead", "select count(*) from inbox.dead_letters", 1);
  app.wait_for("the others are booked", "select count(*) from app.booked", events - 1);
  CHECK(stage.database.text("select error_class from inbox.failures") == error_class);
  CHECK(app.booked_events() == events - 1);
  CHECK(failures(stage) == 1);
}

}  // namespace

TEST_CASE("a poison row in 500: 499 rows, and one failure with its SQLSTATE and constraint") {
  Stage stage{1};
  Application app{stage.database};
  app.run("create table app.booked (event_id uuid not null, n bigint, constraint not_the_250th check (n <> 250))");
  stage.config.handlers = {app.statement("set", books_each, one_attempt)};
  stage.produce(500);  // {"n": 0} to {"n": 499}
  const auto daemon = stage.start();
  one_is_charged(stage, app, 500, "sql.23514");
  CHECK_THAT(stage.database.text("select message from inbox.failures"), ContainsSubstring("constraint not_the_250th"));
  CHECK(stage.database.text("select convert_from(payload, 'UTF8') from inbox.dead_letters") == "{\"n\": 250}");
  const Tally tally = stage.tally("set");
  CHECK(tally.done == 499);
  CHECK(tally.outstanding == 0);
}

TEST_CASE("a function is called once for each event, and says retry with a delay, or dead, by SQLSTATE") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  stage.migrate();
  app.run(
      "create function app.on_order(m inbox.message) returns void language plpgsql as $$ begin "
      "if m.body->>'n' = '3' then raise exception 'no such customer' using errcode = 'ID001'; end if; "
      "if m.body->>'n' = '5' and m.attempt = 1 then "
      "raise exception 'the bank is closed' using errcode = 'IR001', detail = '300ms'; end if; "
      "insert into app.booked values (m.event_id, (m.body->>'n')::bigint); end $$");
  stage.config.handlers = {
      app.function("orders", "app.on_order", {"events_per_call: 100", "retry: {base: 1h, cap: 1h}"})};
  stage.produce(50);
  const auto daemon = stage.start();
  app.wait_for("all but the dead one are booked", "select count(*) from app.booked", 49);
  CHECK(app.booked_events() == 49);
  CHECK(stage.database.text("select error_class || ': ' || last_error from inbox.dead_letters") ==
        "sql.ID001: no such customer");
  CHECK(
      stage.database.text("select error_class || ': ' || message from inbox.failures where error_class like '%R001'") ==
      "sql.IR001: the bank is closed");
  CHECK(failures(stage) == 2);
}

TEST_CASE("events that fail only together are both done, and what is permanent is dead at once") {
  Stage stage{1};
  Application app{stage.database};
  app.run("create table app.total (k text primary key, n bigint not null)");
  stage.config.handlers = {
      app.statement("sums",
                    "insert into app.total select 'all', 1 from events on conflict (k) do update set n = total.n + 1",
                    {"events_per_call: 100"}),
      app.statement("divides", "select 1 / ((body->>'n')::int - 7) from events", {"events_per_call: 100"})};
  stage.config.handlers[1].settings["permanent"] = "['22']";
  stage.produce(100);
  const auto daemon = stage.start();
  app.wait_for("each was counted", "select n from app.total union all select 0 limit 1", 100);
  CHECK(stage.wait_done("sums").done == 100);
  stage.database.wait_for("the one is dead", "select count(*) from inbox.dead_letters", 1);
  CHECK(stage.database.text("select attempts || ' ' || error_class from inbox.dead_letters") == "1 sql.22012");
  CHECK(failures(stage) == 1);
}

TEST_CASE("two handlers that run into deadlocks all the time: every update is there once, and nobody is charged") {
  Stage stage{2};
  Application app{stage.database};
  stage.config.url += stage.config.url.find('?') == std::string::npos ? "?" : "&";
  stage.config.url += "options=-cdeadlock_timeout%3D20ms";
  app.run(
      "create table app.account (id int primary key, n bigint not null); insert into app.account values (1, 0), (2, "
      "0)");
  const auto update = [](const char* first, const char* second) {
    return std::string{"with a as (update app.account set n = n + (select count(*) from events) where id = "} + first +
           " returning 1), b as (select pg_sleep(0.005) from a), c as (update app.account set n = n + (select count(*) "
           "from events) where id = " +
           second + " and exists (select from b) returning 1) select from c, events";
  };
  stage.config.handlers = {app.statement("there", update("1", "2"), {"events_per_call: 20", "concurrency: 2"}),
                           app.statement("back", update("2", "1"), {"events_per_call: 20", "concurrency: 2"})};
  const auto daemon = stage.start();
  stage.produce(1000);
  const Tally there = stage.wait_done("there");
  const Tally back = stage.wait_done("back");
  CHECK(there.is_perfect());
  CHECK(back.is_perfect());
  CHECK(app.text("select string_agg(n::text, ' ' order by id) from app.account") == "2000 2000");
  CHECK(failures(stage) == 0);
  CHECK(daemon->count_in_log("sqlstate=40P01") > 0);
}

TEST_CASE("a statement past its deadline is ended in the server, and charged") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  stage.config.handlers = {app.statement(
      "slow", "insert into app.booked select event_id, 1 from events where (select pg_sleep(30)) is not null",
      {"deadline: 500ms", "retry: {max_attempts: 2, base: 50ms}"})};
  const auto daemon = stage.start();
  stage.produce(1);
  stage.database.wait_for("it is dead", "select count(*) from inbox.dead_letters", 1);
  CHECK(failures(stage) == 2);
  CHECK(app.booked() == 0);
  CHECK(stage.database.number("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and query like '%" +
                              app.schema() + "%'") == 0);
}

TEST_CASE("an event whose data makes a running statement fail like a wrong one is charged alone") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  stage.config.handlers = {app.statement(
      "casts",
      "insert into app.booked select event_id, 1 from events "
      "where (case body->>'n' when '77' then 'no_such_relation' else 'pg_class' end)::regclass is not null",
      one_attempt)};
  stage.produce(200);
  const auto daemon = stage.start();
  one_is_charged(stage, app, 200, "sql.42P01");
}

TEST_CASE("an event that ends its own server process is charged at last, alone, and no other one is") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  app.run(
      "create function app.dies(n text) returns boolean language plpgsql as $$ begin "
      "if n = '7' then perform pg_terminate_backend(pg_backend_pid()); end if; return true; end $$");
  stage.config.handlers = {app.statement("set", std::string{books_each} + " where app.dies(body->>'n')", one_attempt)};
  stage.produce(20);
  const auto daemon = stage.start();
  one_is_charged(stage, app, 20, "sql.08006");
  CHECK_THAT(stage.database.text("select message from inbox.failures"),
             ContainsSubstring("the connection broke each time its statement ran"));
}

TEST_CASE("an event whose deferred trigger ends the server process at COMMIT is charged at last, alone") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  app.run(
      "create function app.dies() returns trigger language plpgsql as $$ begin "
      "if new.n = 7 then perform pg_terminate_backend(pg_backend_pid()); end if; return new; end $$");
  app.run(
      "create constraint trigger dies after insert on app.booked deferrable initially deferred "
      "for each row execute function app.dies()");
  stage.config.handlers = {app.statement("set", books_each, one_attempt)};
  stage.produce(20);
  const auto daemon = stage.start();
  one_is_charged(stage, app, 20, "sql.08006");
}

TEST_CASE("what the daemon may not record is an error in the log and nobody's failure, and goes on when it may") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  stage.migrate();
  app.run(
      "create function app.no() returns trigger language plpgsql as $$ begin "
      "raise 'permission denied for table outcome' using errcode = '42501'; end $$");
  app.run("create trigger no before insert on inbox.outcome for each row execute function app.no()");
  stage.config.handlers = {app.statement("set", books_each, one_attempt)};
  stage.produce(20);
  const auto daemon = stage.start();
  daemon->wait_log("fault=stop sqlstate=42501");
  CHECK(app.booked() == 0);
  app.run("drop trigger no on inbox.outcome");
  CHECK(stage.wait_done("set").is_perfect());
  CHECK(app.booked() == 20);
  CHECK(failures(stage) == 0);
  CHECK(daemon->count_in_log("fault=stop sqlstate=42501") == 1);
}

TEST_CASE("PostgreSQL crashes and comes back, time and again, under load: nobody is charged") {
  PrivatePostgres server;
  Stage stage{2, server.url()};
  Application app{stage.database};
  app.create_book();
  stage.config.handlers = {app.statement("set", std::string{books_each} + " where (select pg_sleep(0.02)) is not null",
                                         {"events_per_call: 100", "concurrency: 3"})};
  const auto daemon = stage.start();
  Load load{stage, 1500};
  for (int round = 0; round < 4; ++round) {
    load.wait_for_more(500);
    server.stop();
    server.start();
    load.wait_for_more(500);
    app.wait_for("some are booked", "select (count(*) > 0)::int from app.booked", 1);
  }
  load.finish();
  const Tally tally = stage.wait_done("set");
  WARN(tally.text());
  CHECK(tally.is_perfect());
  CHECK(app.booked() == tally.produced);
  CHECK(app.booked_events() == tally.produced);
  CHECK(failures(stage) == 0);
}

TEST_CASE("an event that takes the whole deadline is charged alone, whether its call has halves or not") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  stage.config.handlers = {app.statement(
      "slow",
      "insert into app.booked select event_id, 1 from events "
      "where case body->>'n' when '7' then (select pg_sleep(30)) is not null when '3' then 1 / (body->>'n')::int < 2 "
      "else true end",
      {"events_per_call: 20", "concurrency: 1", "deadline: 500ms", "retry: {max_attempts: 1}"})};
  stage.produce(20);
  const auto daemon = stage.start();
  one_is_charged(stage, app, 20, "sql.57014");
}
