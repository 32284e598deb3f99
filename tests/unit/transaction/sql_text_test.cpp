#include "transaction/sql_text.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::transaction {

TEST_CASE("an expression is inserted before a statement, or before its own WITH expressions") {
  const auto merged = [](std::string_view sql) {
    const auto out = with_expression(sql, "e as (x)");
    return out ? out->text : "none";
  };
  CHECK(merged("insert into t select 1") == "with e as (x) insert into t select 1");
  CHECK(merged("with a as (y) select 1") == "with e as (x), a as (y) select 1");
  CHECK(merged("WITH RECURSIVE a as (y) select 1") == "WITH RECURSIVE e as (x), a as (y) select 1");
  CHECK(merged("with recursively as (y) select 1") == "with e as (x), recursively as (y) select 1");
  CHECK(merged(" -- comment\n /* and /* another */ */ select 1") ==
        " -- comment\n /* and /* another */ */ with e as (x) select 1");
  CHECK(merged("(select 1) union (select 2)") == "with e as (x) (select 1) union (select 2)");
  CHECK(merged("(with a as (y) select 1)") == "with e as (x) (with a as (y) select 1)");
  CHECK(merged("create table t ()") == "none");
  CHECK(merged("") == "none");
  CHECK(merged("/* never ended") == "none");
}

TEST_CASE("a position in the sent text converts to a position in the handler's text, in characters") {
  const auto sent = with_expression("/* ä */ with a as (y) select 1", "e as (x)");
  REQUIRE(sent);
  CHECK(sent->position_of(0) == 0);
  CHECK(sent->position_of(4) == 4);
  CHECK(sent->position_of(12) == 12);
  CHECK(sent->position_of(13) == 0);                                      // in the inserted text
  const auto at = static_cast<std::uint32_t>(sent->text.find("select"));  // bytes from 0: an extra byte for the ä
  CHECK(sent->position_of(at) == 23);
}

TEST_CASE("statements that would end the transaction or change the session are refused by their first words") {
  for (const char* const sql : {"commit",
                                "COMMIT and chain",
                                "--x\nrollback to savepoint s",
                                "/**/begin",
                                "(commit)",
                                "set x = 1",
                                "set session x = 1",
                                "set local role r",
                                "set local session authorization r",
                                "set local session_authorization = r",
                                "set local \"role\" = none",
                                "set local U&\"r\\006fle\" = none",
                                "set local transaction_read_only = on",
                                "set local transaction isolation level serializable",
                                "reset x",
                                "discard all",
                                "listen c",
                                "prepare x as select 1",
                                "execute x",
                                "deallocate all",
                                "create temporary table t (i int)",
                                "create local temp table t (i int)",
                                "declare c cursor\n with  hold for select 1",
                                "copy t to stdout",
                                "load 'x'",
                                "set transaction read only",
                                ";commit",
                                " ;\n; rollback and chain",
                                "-- x\rcommit",
                                "/**/;--\r\nbegin"}) {
    CAPTURE(sql);
    CHECK(refused_because(sql).has_value());
  }
  for (const char* const sql :
       {"select 1", "set local x = 1", "set constraints all deferred", "create table t (i int)",
        "create temp table t (i int) on commit\ndrop", "declare c cursor for select 1", "call p()", "committee",
        "with commit as (select 1) select 1", "", "do $$ begin end $$", "notify c", "close c"}) {
    CAPTURE(sql);
    CHECK(!refused_because(sql).has_value());
  }
}

TEST_CASE("statements that leave state for later calls of the transaction are recognised by their words") {
  for (const char* const sql : {"set local x = 1", ";set constraints all deferred", "declare c cursor for select 1",
                                "create temp table t (i int) on commit drop", "select set_config('x', $1, true)",
                                "do $$ begin set local x = 1; end $$"}) {
    CAPTURE(sql);
    CHECK(leaves_state(sql));
  }
  for (const char* const sql : {"select 1", "insert into t values (1)", "update t set x = 1", "call p()", "close c"}) {
    CAPTURE(sql);
    CHECK(!leaves_state(sql));
  }
}

}  // namespace inboxd::transaction
