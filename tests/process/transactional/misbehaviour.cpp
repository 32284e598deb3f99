// What a handler cannot do with the transaction and the session that it is lent: it is told, and nobody else notices.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/stage.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A handler whose events of type `Bad` run one statement more before they insert their row; one worker, so that good
/// and bad events meet in one session.
struct Misbehaving {
  Misbehaving() {
    stage.migrate();
    app.create_book();
  }

  void configure(const std::string& bad, bool swallow, const std::string& key) {
    HandlerText handler;
    handler.name = "writer";
    handler.plugin = plugin_file("writer");
    handler.more = {"concurrency: 1", "retry: {max_attempts: 1}", key};
    handler.settings = {{"table", app.schema() + ".booked"},
                        {"bad", yaml_text(app.named(bad))},
                        {"swallow", swallow ? "true" : "false"}};
    stage.config.handlers = {handler};
  }
  /// One bad event among good ones: its row is not there, the others are. What its failure says.
  std::string failure_of(const std::string& bad, bool swallow = false, const std::string& key = "events_per_call: 5") {
    app.run("delete from app.booked");
    configure(bad, swallow, key);
    const auto before = stage.database.number("select count(*) from inbox.dead_letters");
    const auto daemon = stage.start();
    stage.produce(10);
    stage.kafka.produce({event_message(stage.topic, bad_id(), "{}", "Bad")});
    stage.produce(10);
    stage.database.wait_for("the bad one is dead", "select count(*) from inbox.dead_letters", before + 1);
    app.wait_for("the others are booked", "select count(*) from app.booked", 20);
    CHECK(app.booked_events() == 20);
    CHECK(daemon->stop() == ExitStatus{0, 0});
    return stage.database.text(
        "select reasons -> 0 ->> 'error_class' || ': ' || (reasons -> 0 ->> 'message') from inbox.dead_letters "
        "order by died_at desc limit 1");
  }
  std::string bad_id() { return "0d000000-0000-4000-8000-" + std::to_string(100'000'000'000 + bad_++); }

  Stage stage{1};
  Application app{stage.database};
  int bad_ = 0;
};

}  // namespace

TEST_CASE("statements that would end the transaction or change the session are refused, and fail their event alone") {
  Misbehaving handler;
  for (const char* const bad :
       {"commit", "/* well */ ROLLBACK", "set search_path = pg_temp", "declare c cursor with hold for select 1"}) {
    INFO(bad);
    CHECK_THAT(handler.failure_of(bad), ContainsSubstring("sql.0A000"));
  }
}

TEST_CASE("a handler that swallows an error and says done has done nothing") {
  Misbehaving handler;
  CHECK_THAT(handler.failure_of("select 1 / 0", true), ContainsSubstring("sql."));
  CHECK_THAT(handler.failure_of("select 1 / 0", true, "events_per_call: 1"), ContainsSubstring("sql."));
}

TEST_CASE("a session lock is found out before the commit, and is gone afterwards") {
  Misbehaving handler;
  CHECK_THAT(handler.failure_of("select pg_advisory_lock(4711)"), ContainsSubstring("session advisory lock"));
  CHECK(handler.stage.database.number("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711") ==
        0);
}

TEST_CASE("a search_path that was set for the session behind the daemon's back does not reach the next events") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  app.run(
      "create function app.sets(e text) returns boolean language plpgsql as $$ begin "
      "if e = 'Bad' then perform set_config('search_path', 'nowhere', false); end if; return true; end $$");
  app.run("create table app.path (seen text)");
  stage.config.handlers = {
      app.statement("sets", "insert into app.booked select event_id, 1 from events where app.sets(event_type)",
                    {"concurrency: 1", "events_per_call: 1", "retry: {max_attempts: 1}"}),
      app.statement("looks", "insert into app.path select current_setting('search_path') from events",
                    {"concurrency: 1", "events_per_call: 1"})};
  const auto daemon = stage.start();
  stage.kafka.produce({event_message(stage.topic, "0d000000-0000-4000-8000-000000000001", "{}", "Bad")});
  stage.produce(20);
  app.wait_for("all are seen", "select count(*) from app.path", 21);
  CHECK(app.number("select count(*) from app.path where seen like '%nowhere%'") == 0);
  CHECK(stage.wait_done("sets").done >= 20);
}
