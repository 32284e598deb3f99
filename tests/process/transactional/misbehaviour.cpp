#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A handler whose events of type `Bad` first run another statement. A single worker, so that good and bad events share
/// a session.
struct MisbehavingHandler {
  MisbehavingHandler() {
    fixture.migrate();
    app.create_table();
  }

  void configure(const std::string& bad, bool swallow, const std::string& key) {
    HandlerText handler;
    handler.name = "writer";
    handler.plugin = plugin_file("writer");
    handler.more = {"concurrency: 1", "retry: {max_attempts: 1}", key};
    handler.settings = {{"table", app.schema() + ".applied"},
                        {"bad", yaml_text(app.named(bad))},
                        {"swallow", swallow ? "true" : "false"}};
    fixture.config.handlers = {handler};
  }
  /// Runs a bad event among good events: only its row is missing. Returns its error.
  std::string failure_of(const std::string& bad, bool swallow = false, const std::string& key = "events_per_call: 5") {
    app.run("delete from app.applied");
    configure(bad, swallow, key);
    const auto before = fixture.database.number("select count(*) from inbox.dead_letters");
    const auto daemon = fixture.start();
    fixture.produce(10);
    fixture.kafka.produce({event_message(fixture.topic, bad_id(), "{}", "Bad")});
    fixture.produce(10);
    fixture.database.wait_for("the bad one is dead", "select count(*) from inbox.dead_letters", before + 1);
    app.wait_for("the others are applied", "select count(*) from app.applied", 20);
    CHECK(app.applied_events() == 20);
    CHECK(daemon->stop() == ExitStatus{0, 0});
    return fixture.database.text(
        "select reasons -> 0 ->> 'error_class' || ': ' || (reasons -> 0 ->> 'message') from inbox.dead_letters "
        "order by died_at desc limit 1");
  }
  std::string bad_id() { return "0d000000-0000-4000-8000-" + std::to_string(100'000'000'000 + bad_++); }

  DaemonFixture fixture{1};
  Application app{fixture.database};
  int bad_ = 0;
};

}  // namespace

// fault: handler commits the daemon's transaction itself
TEST_CASE("statements that would end the transaction or change the session are refused, and fail their event alone") {
  MisbehavingHandler handler;
  for (const char* const bad :
       {"commit", "/* well */ ROLLBACK", "set search_path = pg_temp", "declare c cursor with hold for select 1"}) {
    INFO(bad);
    CHECK_THAT(handler.failure_of(bad), ContainsSubstring("sql.0A000"));
  }
}

TEST_CASE("a handler that swallows an error and returns done has done nothing") {
  MisbehavingHandler handler;
  CHECK_THAT(handler.failure_of("select 1 / 0", true), ContainsSubstring("sql."));
  CHECK_THAT(handler.failure_of("select 1 / 0", true, "events_per_call: 1"), ContainsSubstring("sql."));
}

TEST_CASE("a session lock is detected before the commit, and released afterwards") {
  MisbehavingHandler handler;
  CHECK_THAT(handler.failure_of("select pg_advisory_lock(4711)"), ContainsSubstring("session advisory lock"));
  CHECK(handler.fixture.database.number("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711") ==
        0);
}

TEST_CASE("a search_path that a function set for the session does not reach the next events") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  app.run(
      "create function app.sets(e text) returns boolean language plpgsql as $$ begin "
      "if e = 'Bad' then perform set_config('search_path', 'nowhere', false); end if; return true; end $$");
  app.run("create table app.path (seen text)");
  fixture.config.handlers = {
      app.statement("sets", "insert into app.applied select event_id, 1 from events where app.sets(event_type)",
                    {"concurrency: 1", "events_per_call: 1", "retry: {max_attempts: 1}"}),
      app.statement("looks", "insert into app.path select current_setting('search_path') from events",
                    {"concurrency: 1", "events_per_call: 1"})};
  const auto daemon = fixture.start();
  fixture.kafka.produce({event_message(fixture.topic, "0d000000-0000-4000-8000-000000000001", "{}", "Bad")});
  fixture.produce(20);
  app.wait_for("all are seen", "select count(*) from app.path", 21);
  CHECK(app.number("select count(*) from app.path where seen like '%nowhere%'") == 0);
  CHECK(fixture.wait_done("sets").done >= 20);
}
