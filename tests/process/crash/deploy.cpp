#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <csignal>
#include <memory>
#include <sstream>

#include "process/support/inbox_counts.hpp"
#include "process/support/numbered_producer.hpp"
#include "process/support/order_fixture.hpp"
#include "process/support/recorder_fixture.hpp"

using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("start: end with two instances that are killed in turn loses nothing in between") {
  RecorderFixture fixture{3};
  fixture.config.topics = {"{name: " + fixture.topic + ", start: end}"};
  fixture.kafka.produce(events_of(fixture.topic, 0, 100));
  std::int64_t produced = 100;
  const auto produce_some = [&] {
    fixture.kafka.produce(events_of(fixture.topic, produced, 50));
    produced += 50;
  };
  auto one = std::make_unique<DaemonProcess>(fixture.config);
  wait_until("the first positions are written", [&] {
    try {
      return positions(fixture.database.session(), fixture.topic).size() == 3;
    } catch (const std::runtime_error&) {
      return false;  // the tables do not exist yet
    }
  });
  one->kill();  // most likely before the group has any offset
  for (int turn = 0; turn < 4; ++turn) {
    produce_some();
    DaemonProcess next{fixture.config};
    next.wait_ready();
    produce_some();
    if (turn % 2 == 1) {
      wait_until("it stores", [&] { return sum(positions(fixture.database.session(), fixture.topic)) > 150; });
    }
    next.kill();
  }
  produce_some();
  DaemonProcess last{fixture.config};
  expect_settled(fixture.database.session(), produced - 100);
  wait_for_end(fixture);
  REQUIRE(fixture.database.text("select min(event_id::text) from inbox.event") == id_of(100));
}

TEST_CASE("a handler that one of two instances adds gets every event from then on") {
  RecorderFixture fixture{4};
  DaemonProcess old{fixture.config};
  old.wait_ready();
  NumberedProducer producer{fixture.topic};
  fixture.database.wait_for("some events came before", "select (count(*) > 300)::int from inbox.event", 1);

  ConfigText wider = fixture.config;
  wider.handlers.push_back(wider.handlers[0]);
  wider.handlers.back().name = "added";
  wider.handlers.back().start = "now";
  auto updated = std::make_unique<DaemonProcess>(wider);
  updated->wait_ready();
  const auto from = fixture.kafka.ends(fixture.topic);  // both instances store from here on, for both handlers
  wait_until("the group has two members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  const auto before = producer.produced();
  wait_until("more comes", [&] { return producer.produced() > before + 2'000; });
  updated.reset();  // the old daemon continues alone, and still stores for the new handler
  const auto alone = producer.produced();
  wait_until("more comes", [&] { return producer.produced() > alone + 1'000; });
  const auto produced = producer.stop();
  expect_settled(fixture.database.session(), produced);

  DaemonProcess again{wider};
  fixture.database.wait_for("the new handler has settled all", "select coalesce(sum(events), 0) from inbox.delivery",
                            0);
  const auto counts = count(fixture.database.session(), "added");
  REQUIRE(counts.settled == counts.settled_distinct);
  REQUIRE(counts.settled < produced);  // start: now, so not all events
  for (const auto& [partition, offset] : from) {
    const auto missed = fixture.database.number(
        "select count(*) from inbox.event e join inbox.shard s using (shard_id) where s.partition = $1"
        " and e.\"offset\" >= $2 and not exists (select from inbox.outcome o join inbox.handler h using (handler_id)"
        "  where h.name = 'added' and o.shard_id = e.shard_id and o.offsets @> e.\"offset\")",
        {std::to_string(partition), std::to_string(offset)});
    INFO("partition " << partition << " from " << offset);
    REQUIRE(missed == 0);
  }
}

// fault: two versions side by side during a rolling upgrade
TEST_CASE(
    "in a rolling rename both versions share one handler; nothing is lost or doubled, and dead letters stay its own") {
  RecorderFixture fixture{4};
  auto& database = fixture.database;
  fixture.config.handlers[0].settings["dead_type"] = "Doomed";
  auto old = std::make_unique<DaemonProcess>(fixture.config);
  old->wait_ready();
  NumberedProducer producer{fixture.topic};
  const auto wait_more = [&] {
    const auto before = producer.produced();
    wait_until("more comes", [&] { return producer.produced() > before + 1'000; });
  };
  fixture.kafka.produce({event_message(fixture.topic, "0193d2a0-0000-7000-8000-000000000001", "{}", "Doomed")});
  database.wait_for("an event is dead", "select count(*) from inbox.dead_letters where handler = 'recorder'", 1);
  const auto row = database.text("select handler_id || ' ' || created_at from inbox.handler");

  ConfigText next = fixture.config;
  next.handlers[0].name = "successor";
  next.handlers[0].more = {"aliases: [recorder]"};
  next.handlers[0].settings.erase("dead_type");
  DaemonProcess successor{next};
  successor.wait_ready();
  wait_until("the group has two members", [&] { return fixture.kafka.members(fixture.config.group).size() == 2; });
  wait_more();
  CHECK(old->stop() == ExitStatus{0, 0});
  wait_more();
  old = std::make_unique<DaemonProcess>(fixture.config);  // a restart in between does not undo the rename
  old->wait_ready();
  old->wait_log("kind=daemon.former_handler_name");
  const auto called = fixture.recording.calls_by_event("recorder").size();
  wait_until("the old version handles events of the renamed handler",
             [&] { return fixture.recording.calls_by_event("recorder").size() > called; });
  wait_more();
  CHECK(old->stop() == ExitStatus{0, 0});
  wait_more();
  const auto events = producer.stop() + 1;
  const auto replayed = command(next, {"dead", "replay", "--handler", "recorder", "--yes"});
  INFO(replayed.err);
  CHECK(replayed.status == ExitStatus{0, 0});
  database.wait_for("all is done",
                    "select count(*) from inbox.deliveries where handler = 'successor' and state = 'done'", events);
  CHECK(database.number("select count(*) from inbox.deliveries") == events);
  CHECK(database.number("select sum(inbox.count_of(offsets)) from inbox.outcome where outcome = 'done'") == events);
  CHECK(database.number("select sum(inbox.count_of(offsets)) from inbox.outcome where outcome <> 'done'") == 1);
  CHECK(database.number("select (select count(*) from inbox.dead_letter) + (select count(*) from inbox.delivery)") ==
        0);
  CHECK(database.text("select handler_id || ' ' || created_at from inbox.handler") == row);
  CHECK(database.text("select name || ' ' || aliases::text from inbox.handler") == "successor {recorder}");
  CHECK(fixture.recording.calls_by_event("successor").contains("0193d2a0-0000-7000-8000-000000000001"));
}

TEST_CASE("an alias that is another handler with deliveries of its own is refused, until that handler is retired") {
  RecorderFixture fixture{1};
  fixture.config.handlers.push_back(fixture.config.handlers[0]);
  fixture.config.handlers[1].name = "successor";
  auto daemon = std::make_unique<DaemonProcess>(fixture.config);
  daemon->wait_ready();
  ConfigText clashing = fixture.config;
  clashing.handlers = {fixture.config.handlers[1]};
  clashing.handlers[0].more = {"aliases: [recorder]"};
  const std::string sentence =
      "handler successor: its alias recorder is another handler in the database, with deliveries of its own";
  daemon->write_config(clashing.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.reload_refused");
  CHECK_THAT(daemon->log(), ContainsSubstring(sentence));
  CHECK(daemon->stop() == ExitStatus{0, 0});
  const auto checked = command(clashing, {"check"});
  CHECK(checked.status == ExitStatus{1, 0});
  CHECK_THAT(checked.out, ContainsSubstring(sentence));
  const auto refused = command(clashing, {"run"});
  CHECK(refused.status == ExitStatus{78, 0});
  CHECK_THAT(refused.err, ContainsSubstring(sentence));
  CHECK(command(clashing, {"handlers", "retire", "recorder", "--yes"}).status == ExitStatus{0, 0});
  daemon = std::make_unique<DaemonProcess>(clashing);
  daemon->wait_ready();
  fixture.kafka.produce(events_of(fixture.topic, 0, 5));
  expect_settled(fixture.database.session(), 5, "successor");
}

// fault: two versions side by side during a rolling upgrade
// fault: mode, order key or scope of a handler changes beside other instances, under failing load
TEST_CASE(
    "of two instances with other order settings only the newer instance runs the handler, and both are named",
    "[alone]") {
  // Not beside other tests: an instance without a heartbeat for 15 s counts as gone, and the other takes the handler.
  OrderFixture fixture{4};
  auto older = fixture.start();
  fixture.produce(50);
  REQUIRE(fixture.wait_done().is_perfect());

  ConfigText other = fixture.config;
  other.handlers[0].more.push_back("on_failure: skip");
  DaemonProcess newer{other};
  newer.wait_ready();
  older->wait_log("another instance orders a handler otherwise");
  const auto before = fixture.recording.count();
  fixture.produce(200);
  REQUIRE(fixture.wait_done().is_perfect());
  int of_older = 0;
  const auto calls = fixture.recording.all();
  for (std::size_t i = before; i < calls.size(); ++i) of_older += calls[i].process_id == older->process().id() ? 1 : 0;
  INFO("the older instance: " << older->log() << "\nthe newer instance: " << newer.log());
  CHECK(of_older == 0);
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring("does not run handler recorder"));
  CHECK_THAT(command(fixture.config, {"check"}).out, ContainsSubstring("runs it in another order"));

  CHECK(newer.stop() == ExitStatus{0, 0});
  older = nullptr;
  older = fixture.start();
  fixture.produce(50);
  CHECK(fixture.wait_done().is_perfect());
}

TEST_CASE("a configuration that takes a live handler's topics away is named by both daemons, check and status") {
  RecorderFixture fixture{1};
  fixture.config.handlers[0].topics = {fixture.topic};
  auto older = std::make_unique<DaemonProcess>(fixture.config);
  older->wait_ready();
  ConfigText other = fixture.config;
  other.handlers[0].topics = {"elsewhere"};
  CHECK_THAT(command(other, {"check"}).out, ContainsSubstring("which this configuration lacks"));
  auto newer = std::make_unique<DaemonProcess>(other);
  newer->wait_ready();
  newer->wait_log("took topics from a handler");
  older->wait_log("newer registration of a handler dropped topics configured here");
  fixture.kafka.produce(events_of(fixture.topic, 0, 1));
  fixture.database.wait_for("the event is stored", "select count(*) from inbox.event", 1);
  const std::string backfill = "inboxd handlers backfill recorder --from ";
  CHECK_THAT(command(fixture.config, {"status"}).out, ContainsSubstring(backfill));

  CHECK(newer->stop() == ExitStatus{0, 0});  // a killed daemon counts as live for 15 s
  CHECK(older->stop() == ExitStatus{0, 0});
  older = std::make_unique<DaemonProcess>(fixture.config);
  older->wait_ready();
  const std::string status = command(fixture.config, {"status"}).out;
  const auto at = status.find(backfill);
  REQUIRE(at != std::string::npos);
  const auto begin = at + std::string_view{"inboxd "}.size();
  std::istringstream words{status.substr(begin, status.find('\n', begin) - begin)};
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  arguments.push_back("--yes");
  const auto done = command(fixture.config, arguments);
  INFO(status << done.out << done.err);
  CHECK(done.status == ExitStatus{0, 0});
  wait_until("the event is delivered", [&] { return fixture.recording.count() == 1; });
  CHECK(command(fixture.config, {"status"}).out.find(backfill) == std::string::npos);
}

TEST_CASE("a start waits for sessions that hold the lock on routing for longer than a lock timeout") {
  RecorderFixture fixture{1};
  DaemonProcess{fixture.config}.wait_ready();
  Session holder{fixture.database.url(), fixture.database.schema()};
  holder.run("begin; select pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int)");
  DaemonProcess daemon{fixture.config};
  daemon.wait_log("handlers not registered, retrying");
  holder.run("rollback");
  daemon.wait_ready();
}
