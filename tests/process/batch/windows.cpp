#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/batch_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

KeyedEvents::Made any(int i) { return {"key" + std::to_string(i % 7)}; }

}  // namespace

TEST_CASE("a batch handler gets the events of a window in full calls, by arrival") {
  BatchFixture fixture{"every: 365d, max_events: 100", {"concurrency: 1"}};
  const auto daemon = fixture.start();
  fixture.events.produce(250, any);
  fixture.wait_stored(250);
  CHECK(fixture.app.applied() == 0);
  fixture.close_window();
  fixture.wait_applied(250);
  CHECK(fixture.app.text("select string_agg(events || ': ' || first_offset || '-' || last_offset, ', ' order by call) "
                         "from app.calls") == "100: 0-99, 100: 100-199, 50: 200-249");
  CHECK(fixture.wait_done("batch").is_perfect());
}

TEST_CASE("windows close at the multiples of their period") {
  BatchFixture fixture{"every: 2s"};
  const auto daemon = fixture.start();
  fixture.events.produce(10, any);
  fixture.wait_applied(10);
  fixture.events.produce(10, any);
  fixture.wait_applied(20);
  CHECK(fixture.app.number("select count(*) from inbox.batch_window "
                           "where extract(epoch from closed_at) % 2 = 0 and extract(epoch from next_close) % 2 = 0") ==
        1);
  // No call ran before the close of its window, and events came only into windows that closed after them.
  CHECK(fixture.app.number("select count(*) from app.calls c join app.applied a on true join inbox.event e using "
                           "(event_id) where c.called_at < e.received_at and c.call = 2") == 0);
  CHECK(fixture.wait_done("batch").is_perfect());
}

TEST_CASE("an event that comes after the close is in the next window") {
  BatchFixture fixture{"every: 365d, max_events: 10"};
  fixture.app.run("create table app.gate (id int); insert into app.gate values (1)");
  fixture.config.handlers[0].settings["statement"] = yaml_text(fixture.app.named(
      "with open as (select 1 from app.gate for share) insert into app.applied select event_id from events, open"));
  const auto daemon = fixture.start();
  fixture.events.produce(20, any);
  fixture.wait_stored(20);
  Session gate{fixture.database.url(), fixture.database.schema()};
  gate.run(fixture.app.named("begin; select from app.gate for update"));
  fixture.close_window();
  fixture.database.wait_for("the window is closed",
                            "select count(*) from inbox.batch_window where closed_at is not null", 1);
  fixture.events.produce(5, any);
  fixture.wait_stored(25);
  gate.run("commit");
  fixture.app.wait_for("the window has ended", "select count(*) from inbox.batch_window where ended_at is not null", 1);
  CHECK(fixture.app.applied() == 20);
  CHECK(fixture.window("events") == 20);
  fixture.close_window();
  fixture.wait_applied(25);
}

TEST_CASE("a failed event is retried in a later window, the others of its call are done") {
  BatchFixture fixture{"every: 365d", {"retry: {backoff: fixed, base: 100ms, jitter: 0, max_attempts: 2}"}};
  fixture.config.handlers[0].settings["statement"] = yaml_text(
      fixture.app.named("insert into app.applied select event_id, 1 / (event_type <> 'Bad')::int from events"));
  const auto daemon = fixture.start();
  fixture.events.produce(50, [](int i) { return KeyedEvents::Made{"a", i == 20 ? "Bad" : "Happened"}; });
  fixture.wait_stored(50);
  fixture.close_window();
  fixture.wait_applied(49);
  fixture.app.wait_for("the window has ended", "select count(*) from inbox.batch_window where ended_at is not null", 1);
  CHECK(fixture.window("retrying") == 1);
  CHECK(fixture.database.number(
            "select count(*) from inbox.deliveries where state in ('waiting', 'retrying') and attempts = 1") == 1);
  fixture.database.wait_for("its backoff is over",
                            "select count(*) from inbox.deliveries where state = 'waiting' and attempts = 1", 1);
  fixture.close_window();
  fixture.database.wait_for("it is dead", "select count(*) from inbox.dead_letters where attempts = 2", 1);
  fixture.app.wait_for("the window has ended",
                       "select count(*) from inbox.batch_window where ended_at is not null and dead = 1", 1);
  const auto status = command(fixture.config, {"status"});
  CHECK_THAT(status.out, ContainsSubstring("WINDOW OF") && ContainsSubstring("1 dead"));
  const auto replay = command(fixture.config, {"dead", "replay", "--handler", "batch", "--yes"});
  CAPTURE(replay.out, replay.err);
  REQUIRE(replay.status == ExitStatus{0, 0});
  CHECK(fixture.database.number("select count(*) from inbox.deliveries where state = 'waiting'") == 1);
}

TEST_CASE("with group_by: key a call has all events of a single key") {
  BatchFixture fixture{"every: 365d, group_by: key, max_events: 500", {}, 3};
  fixture.config.sections["ingest"] = "batch_events: 50";
  const auto daemon = fixture.start();
  fixture.events.produce(1'400, any);
  fixture.wait_stored(1'400);
  fixture.close_window();
  fixture.wait_applied(1'400);
  CHECK(fixture.app.number("select count(*) from app.calls") == 7);
  CHECK(fixture.app.number("select count(*) from app.calls where keys = 1 and events = 200") == 7);
  CHECK(fixture.wait_done("batch").is_perfect());
}

TEST_CASE("a close with too few events is postponed, not for ever") {
  BatchFixture fixture{"every: 500ms, at_least: 10"};
  auto daemon = fixture.start();
  fixture.events.produce(3, any);
  daemon->wait_log("dispatcher: window of a batch handler postponed", 2);
  CHECK(fixture.app.applied() == 0);
  SECTION("until enough have come") {
    fixture.events.produce(10, any);
    fixture.wait_applied(13);
    CHECK(fixture.app.number("select events from app.calls where call = 1") == 13);
  }
  SECTION("for ten windows at most") {
    fixture.wait_applied(3);
    CHECK(daemon->count_in_log("dispatcher: window of a batch handler postponed") == 10);
  }
}

// fault: no process at midnight
TEST_CASE("a window that was missed runs once at the next start") {
  BatchFixture fixture{"every: 1s"};
  auto daemon = fixture.start();
  fixture.events.produce(10, any);
  fixture.wait_applied(10);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  // Stored meanwhile by an instance without the handler.
  auto handlers = std::exchange(fixture.config.handlers, {HandlerText{.name = "other", .plugin = "log"}});
  {
    const auto other = fixture.start();
    fixture.events.produce(10, any);
    fixture.wait_stored(20);
    fixture.database.wait_for(
        "three closes were missed",
        "select count(*) from inbox.batch_window where decided_until < clock_timestamp() - interval '4 s'", 1);
    CHECK(other->stop() == ExitStatus{0, 0});
  }
  fixture.config.handlers = handlers;
  daemon = fixture.start();
  fixture.wait_applied(20);
  CHECK(daemon->count_in_log("dispatcher: window of a batch handler closed") == 1);
}

TEST_CASE("calls are full although each claim brings a part of a call only") {
  BatchFixture fixture{"every: 365d, max_events: 600", {"concurrency: 1"}};
  fixture.config.sections["ingest"] = "batch_events: 1";
  const auto daemon = fixture.start();
  fixture.events.produce(1'300, any);
  fixture.wait_stored(1'300);
  fixture.close_window();
  fixture.wait_applied(1'300);
  CHECK(fixture.app.text("select string_agg(events::text, ' ' order by call) from app.calls") == "600 600 100");
}

TEST_CASE("a database clock that was ahead does not hold up later windows") {
  BatchFixture fixture{"every: 500ms"};
  const auto daemon = fixture.start();
  fixture.app.wait_for("the window is known", "select count(*) from inbox.batch_window", 1);
  fixture.app.run("update inbox.batch_window set decided_until = clock_timestamp() + interval '1 year'");
  fixture.events.produce(20, any);
  fixture.wait_applied(20);
}

TEST_CASE("an instance that is configured for another mode does not run a batch handler's events") {
  BatchFixture fixture{"every: 365d"};
  auto handlers = fixture.config.handlers;
  fixture.config.handlers[0].more = {"mode: sequential"};
  const auto old = fixture.start();
  fixture.config.handlers = handlers;
  auto daemon = fixture.start();
  fixture.events.produce(50, any);
  fixture.wait_stored(50);
  fixture.close_window();
  fixture.wait_applied(50);
  CHECK(fixture.app.number("select count(*) from app.calls") == 1);
  CHECK(fixture.wait_done("batch").is_perfect());
}

TEST_CASE("events whose window nobody closes count as due since the close that was missed") {
  BatchFixture fixture{"every: 1s"};
  auto daemon = fixture.start();
  fixture.events.produce(1, any);
  fixture.wait_applied(1);
  daemon->kill();
  daemon.reset();
  fixture.app.run(
      "insert into inbox.delivery (handler_id, shard_id, sequence, pending, events, due_at, received_from, "
      "received_to) select handler_id, 1, 0, '{[500,503)}', 3, 'infinity', clock_timestamp(), "
      "clock_timestamp() from inbox.batch_window");
  CHECK(fixture.database.number("select waiting from inbox.backlog") == 3);
  fixture.app.run("update inbox.batch_window set next_close = clock_timestamp()");
  CHECK(fixture.database.number("select due from inbox.backlog") == 3);
  CHECK(fixture.database.number("select (oldest_due_age < interval '10 s')::int from inbox.backlog") == 1);
  const auto status = command(fixture.config, {"handlers", "list", "--json"});
  CHECK_THAT(status.out, ContainsSubstring("\"due\": 3"));
  fixture.app.run("delete from inbox.delivery");
}

TEST_CASE("handlers run refuses other handlers and says how many events wait") {
  BatchFixture fixture{"every: 365d"};
  fixture.config.handlers.push_back(HandlerText{.name = "other", .plugin = "log"});
  const auto daemon = fixture.start();
  fixture.events.produce(12, any);
  fixture.wait_stored(12);
  const auto dry = command(fixture.config, {"handlers", "run", "batch", "--dry-run"});
  CHECK_THAT(dry.out, ContainsSubstring("would close with 12 events"));
  const auto refused = command(fixture.config, {"handlers", "run", "other", "--yes"});
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.err, ContainsSubstring("only a batch handler has windows"));
  CHECK(command(fixture.config, {"handlers", "run", "bath", "--yes"}).status == ExitStatus{1, 0});
  CHECK(fixture.app.applied() == 0);
}
