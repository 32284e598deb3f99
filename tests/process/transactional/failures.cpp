#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/background_producer.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/http.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::vector<std::string> one_attempt{"events_per_call: 500", "concurrency: 1", "retry: {max_attempts: 1}"};

std::int64_t failures(DaemonFixture& fixture) { return fixture.database.number("select count(*) from inbox.failures"); }

/// A single event fails once with this error; all others are applied once.
void one_is_charged(DaemonFixture& fixture, Application& app, std::int64_t events, const std::string& error_class) {
  fixture.database.wait_for("the culprit is dead", "select count(*) from inbox.dead_letters", 1, 120s);
  app.wait_for("the others are applied", "select count(*) from app.applied", events - 1, 120s);
  CHECK(fixture.database.text("select error_class from inbox.failures") == error_class);
  CHECK(app.applied_events() == events - 1);
  CHECK(failures(fixture) == 1);
}

}  // namespace

TEST_CASE("a failing row among 500 gives 499 rows and a failure with SQLSTATE and constraint") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.run("create table app.applied (event_id uuid not null, n bigint, constraint not_the_250th check (n <> 250))");
  fixture.config.handlers = {app.statement("set", insert_each, one_attempt)};
  fixture.produce(500);  // {"n": 0} to {"n": 499}
  const auto daemon = fixture.start();
  one_is_charged(fixture, app, 500, "sql.23514");
  CHECK_THAT(fixture.database.text("select message from inbox.failures"),
             ContainsSubstring("constraint not_the_250th"));
  CHECK(fixture.database.text("select convert_from(payload, 'UTF8') from inbox.dead_letters") == "{\"n\": 250}");
  const EventCounts counts = fixture.counts("set");
  CHECK(counts.done == 499);
  CHECK(counts.pending == 0);
}

TEST_CASE("a function is called once per event, and asks for a delayed retry or a dead letter by SQLSTATE") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.migrate();
  app.run(
      "create function app.on_order(m inbox.message) returns void language plpgsql as $$ begin "
      "if m.body->>'n' = '3' then raise exception 'no such customer' using errcode = 'ID001'; end if; "
      "if m.body->>'n' = '5' and m.attempt = 1 then "
      "raise exception 'the bank is closed' using errcode = 'IR001', detail = '300ms'; end if; "
      "insert into app.applied values (m.event_id, (m.body->>'n')::bigint); end $$");
  fixture.config.handlers = {
      app.function("orders", "app.on_order", {"events_per_call: 100", "retry: {base: 1h, cap: 1h}"})};
  fixture.produce(50);
  const auto daemon = fixture.start();
  app.wait_for("all but the dead one are applied", "select count(*) from app.applied", 49);
  CHECK(app.applied_events() == 49);
  CHECK(fixture.database.text("select error_class || ': ' || last_error from inbox.dead_letters") ==
        "sql.ID001: no such customer");
  CHECK(fixture.database.text(
            "select error_class || ': ' || message from inbox.failures where error_class like '%R001'") ==
        "sql.IR001: the bank is closed");
  CHECK(failures(fixture) == 2);
}

TEST_CASE("events that fail only together are both done, and a permanent error is dead at once") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.run("create table app.total (k text primary key, n bigint not null)");
  fixture.config.handlers = {
      app.statement("sums",
                    "insert into app.total select 'all', 1 from events on conflict (k) do update set n = total.n + 1",
                    {"events_per_call: 100"}),
      app.statement("divides", "select 1 / ((body->>'n')::int - 7) from events", {"events_per_call: 100"})};
  fixture.config.handlers[1].settings["permanent"] = "['22']";
  fixture.produce(100);
  const auto daemon = fixture.start();
  app.wait_for("each was counted", "select n from app.total union all select 0 limit 1", 100);
  CHECK(fixture.wait_done("sums").done == 100);
  fixture.database.wait_for("the one is dead", "select count(*) from inbox.dead_letters", 1);
  CHECK(fixture.database.text("select attempts || ' ' || error_class from inbox.dead_letters") == "1 sql.22012");
  CHECK(failures(fixture) == 1);
}

TEST_CASE("a value that a statement refuses is stored with the failure, and not logged") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  fixture.config.handlers = {app.statement("casts", "select ('x' || (body->>'n'))::numeric from events", {})};
  fixture.config.handlers[0].settings["permanent"] = "['22']";
  fixture.produce(1);
  const auto daemon = fixture.start();
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letters", 1);
  const auto stored = fixture.database.text("select last_error from inbox.dead_letters");
  CHECK(stored.find("the statement refuses a value:\ninvalid input syntax for type numeric: \"x") == 0);
  daemon->wait_log("the statement refuses a value");
  CHECK(daemon->count_in_log("invalid input syntax") == 0);
}

// fault: deadlock
TEST_CASE("two handlers in constant deadlocks apply every update once, and no attempt is charged") {
  DaemonFixture fixture{2};
  Application app{fixture.database};
  fixture.config.url += fixture.config.url.find('?') == std::string::npos ? "?" : "&";
  fixture.config.url += "options=-cdeadlock_timeout%3D20ms";
  app.run(
      "create table app.account (id int primary key, n bigint not null); insert into app.account values (1, 0), (2, "
      "0)");
  const auto update = [](const char* first, const char* second) {
    return std::string{"with a as (update app.account set n = n + (select count(*) from events) where id = "} + first +
           " returning 1), b as (select pg_sleep(0.005) from a), c as (update app.account set n = n + (select count(*) "
           "from events) where id = " +
           second + " and exists (select from b) returning 1) select from c, events";
  };
  fixture.config.handlers = {app.statement("there", update("1", "2"), {"events_per_call: 20", "concurrency: 2"}),
                             app.statement("back", update("2", "1"), {"events_per_call: 20", "concurrency: 2"})};
  const int port = free_port();
  fixture.config.sections["admin"] = "listen: '127.0.0.1:" + std::to_string(port) + "'";
  const auto daemon = fixture.start();
  fixture.produce(1000);
  const EventCounts there = fixture.wait_done("there");
  const EventCounts back = fixture.wait_done("back");
  CHECK(there.is_perfect());
  CHECK(back.is_perfect());
  CHECK(app.text("select string_agg(n::text, ' ' order by id) from app.account") == "2000 2000");
  CHECK(failures(fixture) == 0);
  CHECK(daemon->count_in_log("sqlstate=40P01") > 0);
  const auto repeated = [&](const std::string& handler) {
    return gauge(port, "inboxd_repeated_transactions_total{handler=\"" + handler + "\"}");
  };
  CHECK(repeated("there") + repeated("back") > 0);
}

TEST_CASE("a statement past its deadline is cancelled in the server, and charged") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.config.handlers = {app.statement(
      "slow", "insert into app.applied select event_id, 1 from events where (select pg_sleep(30)) is not null",
      {"deadline: 500ms", "retry: {max_attempts: 2, base: 50ms}"})};
  const auto daemon = fixture.start();
  fixture.produce(1);
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letters", 1);
  CHECK(failures(fixture) == 2);
  CHECK(app.applied() == 0);
  CHECK(fixture.database.number("select count(*) from pg_stat_activity where wait_event = 'PgSleep' and query like '%" +
                                app.schema() + "%'") == 0);
}

TEST_CASE("an event whose data makes a valid statement fail like an invalid statement is charged alone") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.config.handlers = {app.statement(
      "casts",
      "insert into app.applied select event_id, 1 from events "
      "where (case body->>'n' when '77' then 'no_such_relation' else 'pg_class' end)::regclass is not null",
      one_attempt)};
  fixture.produce(200);
  const auto daemon = fixture.start();
  one_is_charged(fixture, app, 200, "sql.42P01");
}

TEST_CASE("an event that ends its server process is charged in the end, alone") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  app.run(
      "create function app.ends_session(n text) returns boolean language plpgsql as $$ begin "
      "if n = '7' then perform pg_terminate_backend(pg_backend_pid()); end if; return true; end $$");
  fixture.config.handlers = {
      app.statement("set", std::string{insert_each} + " where app.ends_session(body->>'n')", one_attempt)};
  fixture.produce(20);
  const auto daemon = fixture.start();
  one_is_charged(fixture, app, 20, "sql.08006");
  CHECK_THAT(fixture.database.text("select message from inbox.failures"),
             ContainsSubstring("the connection broke each time its statement ran"));
}

TEST_CASE("an event whose deferred trigger ends the server process at COMMIT is charged in the end, alone") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  app.run(
      "create function app.ends_session() returns trigger language plpgsql as $$ begin "
      "if new.n = 7 then perform pg_terminate_backend(pg_backend_pid()); end if; return new; end $$");
  app.run(
      "create constraint trigger ends_session after insert on app.applied deferrable initially deferred "
      "for each row execute function app.ends_session()");
  fixture.config.handlers = {app.statement("set", insert_each, one_attempt)};
  fixture.produce(20);
  const auto daemon = fixture.start();
  one_is_charged(fixture, app, 20, "sql.08006");
}

TEST_CASE("a missing right of the daemon is an error in the log and charges no event, until it is granted") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.migrate();
  app.run(
      "create function app.no() returns trigger language plpgsql as $$ begin "
      "raise 'permission denied for table outcome' using errcode = '42501'; end $$");
  app.run("create trigger no before insert on inbox.outcome for each row execute function app.no()");
  fixture.config.handlers = {app.statement("set", insert_each, one_attempt)};
  fixture.produce(20);
  const auto daemon = fixture.start();
  daemon->wait_log("fault=stop sqlstate=42501");
  CHECK(app.applied() == 0);
  app.run("drop trigger no on inbox.outcome");
  CHECK(fixture.wait_done("set").is_perfect());
  CHECK(app.applied() == 20);
  CHECK(failures(fixture) == 0);
  CHECK(daemon->count_in_log("fault=stop sqlstate=42501") == 1);
}

TEST_CASE("repeated crashes of PostgreSQL under load charge no attempt") {
  PrivatePostgres server;
  DaemonFixture fixture{2, server.url()};
  Application app{fixture.database};
  app.create_table();
  fixture.config.handlers = {app.statement("set",
                                           std::string{insert_each} + " where (select pg_sleep(0.02)) is not null",
                                           {"events_per_call: 100", "concurrency: 3"})};
  const auto daemon = fixture.start();
  BackgroundProducer producer{fixture, 1500};
  for (int round = 0; round < 4; ++round) {
    producer.wait_for_more(500);
    server.stop();
    server.start();
    producer.wait_for_more(500);
    app.wait_for("some are applied", "select (count(*) > 0)::int from app.applied", 1);
  }
  producer.finish();
  const EventCounts counts = fixture.wait_done("set");
  WARN(counts.text());
  CHECK(counts.is_perfect());
  CHECK(app.applied() == counts.produced);
  CHECK(app.applied_events() == counts.produced);
  CHECK(failures(fixture) == 0);
}

TEST_CASE("an event that takes the whole deadline is charged alone, whether its call can be split or not") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  fixture.config.handlers = {app.statement(
      "slow",
      "insert into app.applied select event_id, 1 from events "
      "where case body->>'n' when '7' then (select pg_sleep(30)) is not null when '3' then 1 / (body->>'n')::int < 2 "
      "else true end",
      {"events_per_call: 20", "concurrency: 1", "deadline: 500ms", "retry: {max_attempts: 1}"})};
  fixture.produce(20);
  const auto daemon = fixture.start();
  one_is_charged(fixture, app, 20, "sql.57014");
}
