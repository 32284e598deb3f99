// What handlers do to their session and transaction, which are the daemon's: refused, found out, or theirs to use.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "integration/transaction/desk.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;
using Kind = inbox::CommitEnd::Kind;

TEST_CASE("a handler cannot end the transaction or change the session by a statement") {
  const std::string sql = GENERATE(
      as<std::string>{}, "commit", " /* now */ COMMIT", "rollback", "begin", "end", "prepare transaction 'x'",
      "savepoint x", "set search_path = public", "SET ROLE x", "set session characteristics as transaction read only",
      "reset all", "discard all", "listen x", "-- hm\nunlisten *", "create temp table x (i int)",
      "declare x cursor with hold for select 1", "copy note from stdin", "set local role x", ";commit", "-- x\rcommit",
      ";commit and chain", "set local \"role\" = none", "; rollback and chain");
  CAPTURE(sql);
  Desk desk{2};
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (1)")->error);
  desk.transaction->end_call();
  desk.begin(1, 2);
  const auto result = desk.execute(sql);
  REQUIRE(result->error);
  CHECK(result->error->sqlstate == "0A000");
  const auto end = desk.transaction->end_call();
  REQUIRE(end.unresolved);
  CHECK_THAT(end.unresolved->message, ContainsSubstring("the handler "));
  CHECK(desk.notes() == 0);  // of the call before nothing is committed either
  desk.transaction->roll_back();
}

TEST_CASE("what belongs to a transaction is a handler's to use") {
  Desk desk{1};
  desk.begin(0, 1);
  for (const char* const sql :
       {"set local work_mem = '8MB'", "set constraints all immediate", "create temp table x (i int) on commit drop",
        "declare x cursor for select 1", "select pg_advisory_xact_lock(1)", "notify x", "do $$ begin perform 1; end $$",
        "select set_config('work_mem', '9MB', true)", "insert into x values (1);", "close x"}) {
    CAPTURE(sql);
    const auto result = desk.execute(sql);
    CHECK(!result->error);
    if (result->error) WARN(result->error->message);
  }
  const auto end = desk.transaction->end_call();
  CHECK(!end.misdeed);
  CHECK(desk.commit_all().kind == Kind::committed);
}

TEST_CASE("a call says so where others in its transaction would meet what it did") {
  Desk desk{3};
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (1)")->error);
  CHECK(!desk.transaction->end_call().lingers);
  desk.begin(1, 2);
  REQUIRE(!desk.execute("set local search_path = nowhere")->error);
  CHECK(desk.transaction->end_call().lingers);
  auto settlement = desk.done(0, 2);
  CHECK(desk.commit(settlement).kind == Kind::committed);
  desk.begin(2, 3);
  REQUIRE(!desk.execute("insert into note (number) values (2)")->error);
  CHECK(!desk.transaction->end_call().lingers);
  desk.transaction->roll_back();
}

TEST_CASE("a function's warnings are not taken for the server's, nor its errors of connection for ours") {
  Desk desk{1};
  desk.begin(0, 1);
  REQUIRE(!desk.execute("do $$ begin raise warning 'hm'; end $$")->error);
  const auto point = desk.transaction->savepoint();
  const auto elsewhere = desk.execute("do $$ begin raise exception 'no link' using errcode = '08001'; end $$");
  REQUIRE(elsewhere->error);
  CHECK(elsewhere->error->sqlstate == "08001");
  CHECK(!elsewhere->error->will_repeat);
  desk.transaction->rollback_to(point);
  CHECK(!desk.execute("insert into note (number) values (1)")->error);
  CHECK(!desk.transaction->end_call().must_repeat);
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes() == 1);
}

TEST_CASE("two statements at once are refused by the server") {
  Desk desk{1};
  desk.begin(0, 1);
  CHECK(desk.execute("insert into note (number) values (1); commit")->error->sqlstate == "42601");
  desk.transaction->roll_back();
  CHECK(desk.notes() == 0);
}

TEST_CASE("a session lock or a cursor with hold inside a function is found before COMMIT") {
  Desk desk{1};
  desk.begin(0, 1);
  REQUIRE(!desk.execute("select pg_advisory_lock(4711)")->error);
  const auto end = desk.transaction->end_call();
  REQUIRE(end.misdeed);
  CHECK_THAT(*end.misdeed, ContainsSubstring("session advisory lock"));
  desk.transaction->roll_back();
  CHECK(desk.inbox.database().number("select count(*) from pg_locks where locktype = 'advisory' and objid = 4711") ==
        0);

  desk.begin(0, 1);
  REQUIRE(!desk.execute("do $$ begin execute 'declare c cursor with hold for select 1'; end $$")->error);
  const auto again = desk.transaction->end_call();
  REQUIRE(again.misdeed);
  CHECK_THAT(*again.misdeed, ContainsSubstring("WITH HOLD"));
  desk.transaction->roll_back();
}

TEST_CASE("a session lock outlives no transaction, whether it was looked for or not") {
  const bool commits = GENERATE(true, false);
  CAPTURE(commits);
  Desk desk{1};
  desk.begin(0, 1);
  REQUIRE(!desk.execute("select pg_advisory_lock(4712)")->error);
  if (commits) CHECK(desk.commit_all().kind == Kind::committed);  // nobody has looked at the end of the call
  desk.transaction->roll_back();
  CHECK(desk.inbox.database().number("select count(*) from pg_locks where locktype = 'advisory' and objid = 4712") ==
        0);
}

TEST_CASE("what a function changed in the session is put right after COMMIT") {
  Desk desk{3};
  desk.begin(0, 1);
  REQUIRE(!desk.execute("select set_config('work_mem', '9MB', false)")->error);
  REQUIRE(!desk.execute("select set_config('search_path', 'pg_catalog', false)")->error);
  REQUIRE(
      !desk.execute("do $$ begin execute 'create temp table left_over (i int)'; execute 'listen x'; end $$")->error);
  CHECK(!desk.transaction->end_call().misdeed);
  auto settlement = desk.done(0, 1);
  settlement.whole = false;
  CHECK(desk.commit(settlement).kind == Kind::committed);
  desk.begin(1, 2);
  const auto clean = desk.execute(
      "select current_setting('work_mem'), to_regclass('left_over') is null,"
      " (select count(*) from pg_listening_channels())");
  REQUIRE(!clean->error);
  CHECK(clean->value(0, 0).bytes != "9MB");
  CHECK(clean->value(0, 1).integer == 1);
  CHECK(clean->value(0, 2).integer == 0);
  CHECK(!desk.execute("select * from note")->error);
  desk.transaction->roll_back();
}

TEST_CASE("what looks into the session with the daemon's rights is not the handler's to replace") {
  Desk desk{1};
  desk.inbox.database().run("create sequence " + desk.app + ".hijacked");
  const std::string notice = " language sql as $$ select nextval('" + desk.app + ".hijacked')";
  for (const std::string& theirs : {"pg_advisory_unlock(bigint) returns boolean" + notice + " > 0 $$",
                                    "pg_listening_channels() returns setof text" + notice + "::text $$",
                                    "substr(text, int) returns text" + notice + "::text $$"}) {
    desk.inbox.database().run("create function " + desk.app + "." + theirs);
  }
  const std::string path = "set_config('search_path', '" + desk.app + ", pg_catalog', false)";
  desk.begin(0, 1);
  REQUIRE(!desk.execute("select pg_advisory_lock(4711), " + path)->error);
  CHECK(desk.transaction->end_call().misdeed);
  desk.transaction->roll_back();
  desk.begin(0, 1);
  REQUIRE(!desk.execute("select " + path)->error);
  CHECK(!desk.transaction->end_call().misdeed);
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.inbox.database().number("select is_called::int from " + desk.app + ".hijacked") == 0);
}
