// `topics[].deliver_at`: no handler gets an event before its time, by the database's clock.
#include <csignal>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A handler `scheduled` in the given mode that notes each event with the time by the database's clock.
struct DeliverAtFixture : DaemonFixture {
  Application app{database};

  explicit DeliverAtFixture(const std::string& mode) : DaemonFixture{1} {
    app.run("create table app.calls (handler text, event_id uuid, at timestamptz default clock_timestamp())");
    config.topics = {"{name: " + topic + ", deliver_at: 'header:due'}"};
    config.handlers = {handler("scheduled", mode)};
  }

  HandlerText handler(const std::string& name, const std::string& mode) {
    std::vector<std::string> more{"mode: " + mode};
    if (mode == "batch") more.emplace_back("batch: {every: 200ms}");
    return app.statement(name, "insert into app.calls select '" + name + "', event_id from events", std::move(more));
  }

  /// `in`: an interval from now, by the database's clock; empty: the event has no time. Returns the event id.
  std::string produce(const std::string& key, const std::string& in = "") {
    const std::string id = database.text("select gen_random_uuid()");
    Message message = event_message(topic, id);
    message.key = key;
    if (!in.empty()) {
      message.headers.emplace_back("due", database.text("select to_char((clock_timestamp() + interval '" + in +
                                                        "') at time zone 'utc', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"));
    }
    kafka.produce({message});
    note({id});
    return id;
  }

  void wait_calls(std::int64_t events, const std::string& handler = "scheduled") {
    app.wait_for("the handler was called", "select count(*) from app.calls where handler = '" + handler + "'", events);
  }
  std::int64_t early_calls() {
    return app.number(
        "select count(*) from app.calls c join inbox.events e using (event_id) where c.at < e.deliver_at");
  }
  std::int64_t calls_out_of_order() {
    return app.number(
        "select count(*) from (select c.at, lag(c.at) over (partition by e.key order by e.\"offset\") as before "
        "from app.calls c join inbox.events e using (event_id)) x where x.at < x.before");
  }
  void wait_waiting(std::int64_t events) {
    database.wait_for("events wait", "select count(*) from inbox.deliveries where state = 'waiting'", events);
  }
  std::string states(const std::string& id) {
    return database.text("select string_agg(state, ' ' order by handler) from inbox.deliveries where event_id = '" +
                         id + "'");
  }
};

}  // namespace

TEST_CASE("an event is not handed over before its deliver_at, in every mode; in sequential its key waits") {
  const std::string mode = GENERATE("single", "sequential", "batch");
  CAPTURE(mode);
  DeliverAtFixture fixture{mode};
  const auto daemon = fixture.start();
  fixture.produce("a");
  const std::string due = fixture.produce("a", "4 s");
  fixture.produce("b", "-1 s");
  const std::string later = fixture.produce("a");
  fixture.produce("b");
  CHECK(fixture.wait_done("scheduled").is_perfect());
  CHECK(fixture.early_calls() == 0);
  if (mode == "sequential") {
    CHECK(fixture.app.number("select count(*) from app.calls c join app.calls d on d.event_id = '" + due +
                             "' where c.event_id = '" + later + "' and c.at > d.at") == 1);
  }
  CHECK(fixture.database.number("select count(*) from inbox.failures") == 0);
  CHECK(fixture.database.number("select count(*) from inbox.deliveries where attempts <> 1") == 0);
}

TEST_CASE("many events of a key with times of their own run in order, none early") {
  DeliverAtFixture fixture{"sequential"};
  const auto daemon = fixture.start();
  for (const char* in : {"3 s", "1 s", "", "2 s", "4 s", ""}) {
    fixture.produce("a", in);
    fixture.produce("b");
  }
  CHECK(fixture.wait_done("scheduled").is_perfect());
  CHECK(fixture.early_calls() == 0);
  CHECK(fixture.calls_out_of_order() == 0);
}

TEST_CASE("no retry, restart, back-fill or replay delivers an event before its deliver_at") {
  const std::string mode = GENERATE("single", "sequential", "batch");
  CAPTURE(mode);
  DeliverAtFixture fixture{mode};
  auto daemon = fixture.start();
  const std::string due = fixture.produce("a", "1 h");
  fixture.produce("b");
  fixture.wait_calls(1);
  fixture.wait_waiting(1);
  CHECK_THAT(command(fixture.config, {"events", "list", "--state", "waiting"}).out, ContainsSubstring(due));
  const auto retry = command(fixture.config, {"events", "retry", due, "--handler", "scheduled"});
  CHECK(retry.status == ExitStatus{1, 0});
  CHECK_THAT(retry.err, ContainsSubstring("it waits for its deliver_at"));
  CHECK(command(fixture.config, {"events", "retry", "--handler", "scheduled"}).status == ExitStatus{1, 0});
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.config.handlers.push_back(fixture.handler("late", mode));
  daemon = fixture.start();
  fixture.wait_calls(1, "late");
  fixture.produce("b");
  fixture.wait_calls(2);
  fixture.wait_calls(2, "late");
  fixture.wait_waiting(2);

  const auto skip = command(fixture.config, {"events", "skip", due, "--handler", "scheduled", "--reason", "a test",
                                              "--yes"});
  CAPTURE(skip.out, skip.err);
  CHECK(skip.status == ExitStatus{0, 0});
  CHECK(fixture.states(due) == "waiting dead");
  CHECK(command(fixture.config, {"dead", "replay", due, "--yes"}).status == ExitStatus{0, 0});
  fixture.produce("b");
  fixture.wait_calls(3);
  fixture.wait_waiting(2);
  CHECK(fixture.early_calls() == 0);
  CHECK(fixture.app.number("select count(*) from app.calls where event_id = '" + due + "'") == 0);
}

TEST_CASE("status and events show say that an event waits for its deliver_at, and until when") {
  const std::string mode = GENERATE("single", "sequential");
  CAPTURE(mode);
  DeliverAtFixture fixture{mode};
  const auto daemon = fixture.start();
  const std::string due = fixture.produce("a", "1 h");
  fixture.wait_waiting(1);
  const std::string later = fixture.produce("a");
  fixture.produce("b");
  fixture.wait_calls(mode == "single" ? 2 : 1);
  if (mode == "sequential") fixture.wait_waiting(2);
  const std::string time = fixture.database.text(
      "select to_char(deliver_at at time zone 'utc', 'YYYY-MM-DD HH24:MI:SS') from inbox.events "
      "where event_id = '" + due + "'");
  CHECK_THAT(command(fixture.config, {"events", "show", due}).out, ContainsSubstring("deliver_at " + time));
  CHECK_THAT(command(fixture.config, {"events", "trace", due}).out, ContainsSubstring("its deliver_at"));
  const auto handlers = command(fixture.config, {"handlers", "list"});
  CHECK_THAT(handlers.out, ContainsSubstring("next deliver_at " + time));
  const auto status = command(fixture.config, {"status"});
  CHECK_THAT(status.out, ContainsSubstring("no problems") || ContainsSubstring("all is well"));
  if (mode == "sequential") {
    CHECK_THAT(command(fixture.config, {"events", "show", later}).out,
               ContainsSubstring("after its key's earlier events"));
  }
}

TEST_CASE("the database's clock decides, not the daemon's") {
  const std::string mode = GENERATE("single", "sequential", "batch");
  const std::string off = GENERATE("86400", "-86400");
  CAPTURE(mode, off);
  DeliverAtFixture fixture{mode};
  fixture.config.topics = {"{name: " + fixture.topic + ", deliver_at: 'header:due'}"};
  DaemonProcess daemon{fixture.config,
                       {"run", "--migrate"},
                       {{"LD_PRELOAD", plugin_file("clock_off")}, {"INBOXD_TEST_CLOCK_OFF", off}}};
  daemon.wait_ready();
  fixture.produce("a", "2 s");
  fixture.produce("a");
  fixture.produce("b", "1 s");
  CHECK(fixture.wait_done("scheduled").is_perfect());
  CHECK(fixture.early_calls() == 0);
}

TEST_CASE("after a crash another instance calls events at their deliver_at, not earlier, in order") {
  const std::string mode = GENERATE("single", "sequential", "batch");
  CAPTURE(mode);
  DeliverAtFixture fixture{mode};
  auto first = fixture.start();
  for (const char* in : {"14 s", "", "10 s", "", "12 s"}) fixture.produce("a", in);
  fixture.produce("b");
  fixture.database.wait_for("events wait",
                            "select least(count(*), 3) from inbox.deliveries where state = 'waiting'", 3);
  const auto second = fixture.start();
  first->kill();
  CHECK(fixture.wait_done("scheduled").is_perfect());
  CHECK(fixture.early_calls() == 0);
  if (mode == "sequential") CHECK(fixture.calls_out_of_order() == 0);
}

TEST_CASE("a reload does not change deliver_at; after a restart stored events keep their time") {
  DeliverAtFixture fixture{"sequential"};
  auto daemon = fixture.start();
  const std::string due = fixture.produce("a", "1 h");
  fixture.wait_waiting(1);
  fixture.config.topics = {"{name: " + fixture.topic + ", deliver_at: 'json:/due'}"};
  daemon->write_config(fixture.config.text());
  daemon->process().signal(SIGHUP);
  daemon->wait_log("kind=daemon.restart_needed");
  daemon->wait_log("key=topics[0].deliver_at");
  CHECK(daemon->stop() == ExitStatus{0, 0});
  daemon = fixture.start();
  const std::string other = fixture.produce("b", "1 h");
  fixture.wait_calls(1);
  CHECK(fixture.states(due) == "waiting");
  CHECK(fixture.states(other) == "done");
}

TEST_CASE("an event expires expire_after its deliver_at") {
  const std::string mode = GENERATE("single", "sequential");
  CAPTURE(mode);
  DeliverAtFixture fixture{mode};
  fixture.config.handlers[0].more.emplace_back("expire_after: 2s");
  const auto daemon = fixture.start();
  const std::string due = fixture.produce("a", "4 s");
  CHECK(fixture.wait_done("scheduled").is_perfect());
  CHECK(fixture.early_calls() == 0);
}

TEST_CASE("a time beyond deliver_at_limit goes to quarantine, and waits once it is retried with another limit") {
  DeliverAtFixture fixture{"single"};
  fixture.config.topics = {"{name: " + fixture.topic + ", deliver_at: 'header:due', deliver_at_limit: 1h}"};
  auto daemon = fixture.start();
  const std::string due = fixture.produce("a", "2 h");
  fixture.database.wait_for("it is quarantined",
                            "select count(*) from inbox.quarantined where reason = 'undecodable' and detail like "
                            "'deliver_at: the value at header:due is further ahead%'",
                            1);
  CHECK(daemon->stop() == ExitStatus{0, 0});
  fixture.config.topics = {"{name: " + fixture.topic + ", deliver_at: 'header:due', deliver_at_limit: 3h}"};
  const auto retry = command(fixture.config, {"quarantine", "retry", "--topic", fixture.topic, "--yes"});
  CAPTURE(retry.out, retry.err);
  CHECK(retry.status == ExitStatus{0, 0});
  daemon = fixture.start();
  fixture.produce("b");
  fixture.wait_calls(1);
  CHECK(fixture.states(due) == "waiting");
  CHECK(fixture.database.number("select count(*) from inbox.events where deliver_at > now() + interval '1 h'") == 1);
}
