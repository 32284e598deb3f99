#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "integration/transaction/handler_transaction_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Kind = transaction::CommitEnd::Kind;

// fault: handler commits the daemon's transaction itself
TEST_CASE("a handler cannot end the transaction or change the session by a statement") {
  const std::string sql = GENERATE(
      as<std::string>{}, "commit", " /* now */ COMMIT", "rollback", "begin", "end", "prepare transaction 'x'",
      "savepoint x", "set search_path = public", "SET ROLE x", "set session characteristics as transaction read only",
      "reset all", "discard all", "listen x", "-- hm\nunlisten *", "create temp table x (i int)",
      "declare x cursor with hold for select 1", "copy note from stdin", "set local role x", ";commit", "-- x\rcommit",
      ";commit and chain", "set local \"role\" = none", "; rollback and chain");
  CAPTURE(sql);
  HandlerTransactionFixture fixture{2};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (1)")->error);
  fixture.transaction->end_call();
  fixture.begin(1, 2);
  const auto result = fixture.execute(sql);
  REQUIRE(result->error);
  CHECK(result->error->sqlstate == "0A000");
  const auto end = fixture.transaction->end_call();
  REQUIRE(end.unhandled_error);
  CHECK_THAT(end.unhandled_error->message, ContainsSubstring("the handler "));
  CHECK(fixture.notes() == 0);  // the call before is not committed either
  fixture.transaction->roll_back();
}

TEST_CASE("a handler may use everything that ends with its transaction") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  for (const char* const sql :
       {"set local work_mem = '8MB'", "set constraints all immediate", "create temp table x (i int) on commit drop",
        "declare x cursor for select 1", "select pg_advisory_xact_lock(1)", "notify x", "do $$ begin perform 1; end $$",
        "select set_config('work_mem', '9MB', true)", "insert into x values (1);", "close x"}) {
    CAPTURE(sql);
    const auto result = fixture.execute(sql);
    CHECK(!result->error);
    if (result->error) WARN(result->error->message);
  }
  const auto end = fixture.transaction->end_call();
  CHECK(!end.violation);
  CHECK(fixture.commit_all().kind == Kind::committed);
}

TEST_CASE("a call that changes settings of its transaction is reported") {
  HandlerTransactionFixture fixture{3};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (1)")->error);
  CHECK(!fixture.transaction->end_call().leaves_state);
  fixture.begin(1, 2);
  REQUIRE(!fixture.execute("set local search_path = nowhere")->error);
  CHECK(fixture.transaction->end_call().leaves_state);
  auto settlement = fixture.done(0, 2);
  CHECK(fixture.commit(settlement).kind == Kind::committed);
  fixture.begin(2, 3);
  REQUIRE(!fixture.execute("insert into note (number) values (2)")->error);
  CHECK(!fixture.transaction->end_call().leaves_state);
  fixture.transaction->roll_back();
}

TEST_CASE("a function's warnings and connection errors are not taken for the server's") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("do $$ begin raise warning 'hm'; end $$")->error);
  const auto point = fixture.transaction->savepoint();
  const auto elsewhere = fixture.execute("do $$ begin raise exception 'no link' using errcode = '08001'; end $$");
  REQUIRE(elsewhere->error);
  CHECK(elsewhere->error->sqlstate == "08001");
  CHECK(!elsewhere->error->will_repeat);
  fixture.transaction->rollback_to(point);
  CHECK(!fixture.execute("insert into note (number) values (1)")->error);
  CHECK(!fixture.transaction->end_call().must_repeat);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes() == 1);
}

TEST_CASE("two statements at once are refused by the server") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  CHECK(fixture.execute("insert into note (number) values (1); commit")->error->sqlstate == "42601");
  fixture.transaction->roll_back();
  CHECK(fixture.notes() == 0);
}

TEST_CASE("a session lock or a cursor with hold inside a function is detected before COMMIT") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("select pg_advisory_lock(4711)")->error);
  const auto end = fixture.transaction->end_call();
  REQUIRE(end.violation);
  CHECK_THAT(*end.violation, ContainsSubstring("session advisory lock"));
  fixture.transaction->roll_back();
  CHECK(fixture.inbox.database().number("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711") ==
        0);

  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("do $$ begin execute 'declare c cursor with hold for select 1'; end $$")->error);
  const auto again = fixture.transaction->end_call();
  REQUIRE(again.violation);
  CHECK_THAT(*again.violation, ContainsSubstring("WITH HOLD"));
  fixture.transaction->roll_back();
}

TEST_CASE("a session lock never outlives the transaction, detected or not") {
  const bool commits = GENERATE(true, false);
  CAPTURE(commits);
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("select pg_advisory_lock(4712)")->error);
  if (commits) CHECK(fixture.commit_all().kind == Kind::committed);  // commits without the check at the end of the call
  fixture.transaction->roll_back();
  CHECK(fixture.inbox.database().number("select count(*) from pg_locks where locktype = 'advisory' and objid = 4712") ==
        0);
}

TEST_CASE("session changes of a function are undone after COMMIT") {
  HandlerTransactionFixture fixture{3};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("select set_config('work_mem', '9MB', false)")->error);
  REQUIRE(!fixture.execute("select set_config('search_path', 'pg_catalog', false)")->error);
  REQUIRE(
      !fixture.execute("do $$ begin execute 'create temp table left_over (i int)'; execute 'listen x'; end $$")->error);
  CHECK(!fixture.transaction->end_call().violation);
  auto settlement = fixture.done(0, 1);
  settlement.whole = false;
  CHECK(fixture.commit(settlement).kind == Kind::committed);
  fixture.begin(1, 2);
  const auto clean = fixture.execute(
      "select current_setting('work_mem'), to_regclass('left_over') is null,"
      " (select count(*) from pg_listening_channels())");
  REQUIRE(!clean->error);
  CHECK(clean->value(0, 0).bytes != "9MB");
  CHECK(clean->value(0, 1).integer == 1);
  CHECK(clean->value(0, 2).integer == 0);
  CHECK(!fixture.execute("select * from note")->error);
  fixture.transaction->roll_back();
}

TEST_CASE("a handler cannot replace the functions that check its session with the daemon's rights") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("create sequence " + fixture.app + ".hijacked");
  const std::string notice = " language sql as $$ select nextval('" + fixture.app + ".hijacked')";
  for (const std::string& theirs : {"pg_advisory_unlock(bigint) returns boolean" + notice + " > 0 $$",
                                    "pg_listening_channels() returns setof text" + notice + "::text $$",
                                    "substr(text, int) returns text" + notice + "::text $$"}) {
    fixture.inbox.database().run("create function " + fixture.app + "." + theirs);
  }
  const std::string path = "set_config('search_path', '" + fixture.app + ", pg_catalog', false)";
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("select pg_advisory_lock(4711), " + path)->error);
  CHECK(fixture.transaction->end_call().violation);
  fixture.transaction->roll_back();
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("select " + path)->error);
  CHECK(!fixture.transaction->end_call().violation);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.inbox.database().number("select is_called::int from " + fixture.app + ".hijacked") == 0);
}

TEST_CASE("statements of calls that share a transaction wait 200 ms for locks; settling keeps the URL's lock_timeout") {
  HandlerTransactionFixture fixture{
      1, "{}", [](config::Database& settings) { settings.url += "?options=-c%20lock_timeout%3D2s"; }};
  fixture.inbox.database().run("create function " + fixture.app +
                               ".noted() returns trigger language plpgsql as $$ begin " + "insert into " + fixture.app +
                               ".note (text) values (current_setting('lock_timeout')); " + "return new; end $$");
  fixture.inbox.database().run("create trigger noted before insert on inbox.outcome for each row execute function " +
                               fixture.app + ".noted()");
  fixture.lock_wait = milliseconds{200};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (text) values ('statement: ' || current_setting('lock_timeout'))")->error);
  fixture.transaction->end_call();
  REQUIRE(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes("text = 'statement: 200ms'") == 1);
  CHECK(fixture.notes("text = '2s'") == 1);
}
