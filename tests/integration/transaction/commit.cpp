// What a handler writes and what became of its events are one commit.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "integration/transaction/desk.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Kind = inbox::CommitEnd::Kind;

TEST_CASE("what a handler writes and that its events are done are one commit") {
  Desk desk{500};
  desk.begin(0, 500);
  const auto result = desk.with_events(insert_all);
  REQUIRE(!result->error);
  CHECK(result->affected == 500);
  CHECK(desk.notes() == 0);
  CHECK(!desk.transaction->end_call().unresolved);
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes("text = '7'") == 500);
  CHECK(desk.done_events() == 500);
  CHECK(desk.inbox.outstanding() == 0);
}

TEST_CASE("part of a run after part of it, each with its writes") {
  Desk desk{10};
  for (std::size_t i = 0; i < 10; ++i) {
    desk.begin(i, i + 1);
    REQUIRE(!desk.with_events(insert_all)->error);
    desk.transaction->end_call();
    auto settlement = desk.done(i, i + 1);
    settlement.whole = i == 9;
    CHECK(desk.commit(settlement).kind == Kind::committed);
    CHECK(desk.notes() == static_cast<std::int64_t>(i + 1));
    CHECK(desk.done_events() == static_cast<std::int64_t>(i + 1));
  }
  CHECK(desk.inbox.database().number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("two transactions that settle the last parts of one run at the same time both get through") {
  Desk desk{10};
  desk.begin(5, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  Session other{desk.inbox.database().url(), desk.inbox.database().schema()};
  other.run("begin");
  other.run("update inbox.delivery set pending = pending - '{[0,5)}', events = events - 5");
  inbox::CommitEnd end;
  std::thread ours{[&] { end = desk.commit(desk.done(5, 10)); }};
  desk.inbox.database().wait_for("it to wait for the row", "select count(*) from pg_locks where not granted", 1);
  other.run("commit");
  ours.join();
  CHECK(end.kind == Kind::committed);
  CHECK(desk.notes() == 5);
  CHECK(desk.inbox.database().number("select count(*) from inbox.outcome where offsets = '{[5,10)}'") == 1);
  CHECK(desk.inbox.database().number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("a part that is not owed any more is nobody's to settle") {
  Desk desk{10};
  desk.inbox.database().run("update inbox.delivery set pending = '{[0,5)}', events = 5");
  desk.begin(5, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  CHECK(desk.commit(desk.done(5, 10)).kind == Kind::lost);
  CHECK(desk.notes() == 0);
  CHECK(desk.inbox.database().text("select pending from inbox.delivery") == "{[0,5)}");
}

TEST_CASE("a zombie's writes are rolled back, and it is told whose lease was lost") {
  Desk desk{10};
  desk.begin(0, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  desk.inbox.database().run("update inbox.delivery set fence = fence + 1");
  const auto end = desk.commit_all();
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{desk.run->key});
  CHECK(desk.notes() == 0);
  CHECK(desk.done_events() == 0);
}

TEST_CASE("of several calls the one that failed is undone alone, and recorded in the same transaction") {
  Desk desk{3};
  for (std::size_t i = 0; i < 3; ++i) {
    desk.begin(i, i + 1, false);
    REQUIRE(!desk.with_events(insert_all)->error);
    if (i == 1) {
      const auto bad = desk.execute("insert into note (number) values ($1)", {text_value("no number")});
      REQUIRE(bad->error);
      CHECK(bad->error->sqlstate == "22P02");
      CHECK(desk.transaction->state() == inbox::HandlerSql::State::failed);
      CHECK(desk.execute("select 1")->error->sqlstate == "25P02");
    }
    const auto end = desk.transaction->end_call();
    CHECK(end.unresolved.has_value() == (i == 1));
    if (i == 1) desk.transaction->undo_call();
  }
  auto settlement = desk.done(0, 1);
  settlement.done.add(desk.run->events[2]->offset);
  inbox::RetryGroup again;
  again.offsets.add(desk.run->events[1]->offset);
  again.delay = milliseconds{60'000};
  again.last_error = "sql.22P02: no number";
  settlement.retries.push_back(again);
  settlement.failures.push_back({desk.run->events[1]->event_id, 1, "sql.22P02", "no number", milliseconds{1}});
  settlement.whole = true;
  CHECK(desk.commit(settlement).kind == Kind::committed);
  CHECK(desk.notes() == 2);
  CHECK(desk.done_events() == 2);
  CHECK(desk.inbox.database().text("select error_class from inbox.failures") == "sql.22P02");
}

TEST_CASE("a call that is undone although its statements were fine takes nothing of the calls before it along") {
  Desk desk{3};
  for (std::size_t i = 0; i < 3; ++i) {
    desk.begin(i, i + 1, false);
    REQUIRE(!desk.with_events(insert_all)->error);
    const auto end = desk.transaction->end_call();
    CHECK(!end.unresolved);
    if (i == 1) desk.transaction->undo_call();  // it said dead
  }
  auto settlement = desk.done(0, 1);
  settlement.done.add(desk.run->events[2]->offset);
  inbox::RetryGroup again;
  again.offsets.add(desk.run->events[1]->offset);
  again.delay = milliseconds{60'000};
  settlement.retries.push_back(again);
  settlement.whole = true;
  CHECK(desk.commit(settlement).kind == Kind::committed);
  CHECK(desk.notes() == 2);
  CHECK(desk.done_events() == 2);
}

TEST_CASE("a savepoint of an earlier call is nothing that a handler can go back to") {
  Desk desk{2};
  desk.begin(0, 1, false);
  const auto early = desk.transaction->savepoint();
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  desk.begin(1, 2, false);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->rollback_to(early);
  desk.transaction->end_call();
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes() == 2);
}

TEST_CASE("a call alone that failed is undone without a savepoint, and its failure is recorded") {
  Desk desk{1};
  desk.begin(0, 1);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  desk.transaction->undo_call();
  inbox::Settlement settlement;
  settlement.key = desk.run->key;
  settlement.dead.push_back({desk.run->events[0]->offset, desk.run->events[0]->event_id});
  settlement.failures.push_back({desk.run->events[0]->event_id, 1, "no", "no", milliseconds{1}});
  settlement.whole = true;
  CHECK(desk.commit(settlement).kind == Kind::committed);
  CHECK(desk.notes() == 0);
  CHECK(desk.inbox.database().number("select count(*) from inbox.dead_letters") == 1);
}

TEST_CASE("savepoints undo what came after them, failures too, and nest") {
  Desk desk{1};
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (1)")->error);
  const auto outer = desk.transaction->savepoint();
  REQUIRE(!desk.execute("insert into note (number) values (2)")->error);
  const auto inner = desk.transaction->savepoint();
  REQUIRE(desk.execute("insert into nowhere values (3)")->error);
  desk.transaction->rollback_to(inner);
  REQUIRE(!desk.execute("insert into note (number) values (4)")->error);
  const auto kept = desk.transaction->savepoint();
  REQUIRE(!desk.execute("insert into note (number) values (5)")->error);
  desk.transaction->release_savepoint(kept);
  desk.transaction->rollback_to(outer);
  REQUIRE(!desk.execute("insert into note (number) values (6)")->error);
  CHECK(!desk.transaction->end_call().unresolved);
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes() == 2);
  CHECK(desk.notes("number in (1, 6)") == 2);
}

TEST_CASE("what the database refuses at COMMIT is told, and nothing of it is kept") {
  Desk desk{1};
  desk.inbox.database().run("create table " + desk.app + ".once (n int unique deferrable initially deferred)");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into once values (1), (1)")->error);
  desk.transaction->end_call();
  const auto end = desk.commit_all();
  CHECK(end.kind == Kind::refused);
  REQUIRE(end.error);
  CHECK(end.error->sqlstate == "23505");
  CHECK(desk.done_events() == 0);
  // The next transaction of the same worker is not harmed.
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into once values (1)")->error);
  desk.transaction->end_call();
  CHECK(desk.commit_all().kind == Kind::committed);
}

TEST_CASE("what the daemon itself records and may not is told apart from what the handler may not") {
  Desk desk{10};
  desk.refuse_outcomes("42501");
  const bool whole = GENERATE(true, false);
  const auto end_of_call = [&] {
    desk.begin(0, 5);
    REQUIRE(!desk.with_events(insert_all)->error);
    desk.transaction->end_call();
    return desk.commit(desk.done(0, whole ? 10 : 5));
  };
  const auto end = end_of_call();
  CHECK(end.kind == Kind::unsettled);
  CHECK(end.error.value().sqlstate == "42501");
  CHECK(desk.notes() == 0);
  desk.inbox.database().run("drop trigger no on inbox.outcome");
  CHECK(end_of_call().kind == Kind::committed);
  CHECK(desk.notes() == 5);
}

namespace {

/// The first of ten events has failed with that message.
inbox::CommitEnd commit_failure(Desk& desk, const std::string& message) {
  desk.begin(1, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  auto settlement = desk.done(1, 10);
  inbox::RetryGroup again;
  again.offsets.add(desk.run->events[0]->offset);
  again.delay = milliseconds{60'000};
  again.last_error = "no: " + message;
  settlement.retries.push_back(again);
  settlement.failures.push_back({desk.run->events[0]->event_id, 1, "no", message, milliseconds{1}});
  settlement.whole = true;
  return desk.commit(settlement);
}

}  // namespace

TEST_CASE("a message that the database's encoding lacks repeats the transaction, and is written in plain letters") {
  Desk desk{10};
  const std::string message = "zu sp\xe4t";  // to a database in UTF-8 what an umlaut is to one without
  const auto end = commit_failure(desk, message);
  CHECK(end.kind == Kind::repeat);
  CHECK(end.error.value().sqlstate == "22021");
  CHECK(desk.notes() == 0);
  CHECK(commit_failure(desk, message).kind == Kind::committed);
  CHECK(desk.notes() == 9);
  CHECK(desk.inbox.database().text("select message from inbox.failures") == "zu sp?t");
}

TEST_CASE("data of the daemon's that is refused in plain letters, too, is refused, and waited for by nobody") {
  Desk desk{10};
  desk.refuse_outcomes("22P05");
  CHECK(commit_failure(desk, "late").kind == Kind::repeat);
  CHECK(commit_failure(desk, "late").kind == Kind::refused);
}

TEST_CASE("deferred triggers run as the handler's statements do: under its search path, and refused as theirs are") {
  Desk desk{1};
  desk.defer("if (select sum(number) from note) <> 0 then raise 'the books do not balance'; end if;");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (3)")->error);
  desk.transaction->end_call();
  const auto refused = desk.commit_all();
  CHECK(refused.kind == Kind::refused);
  CHECK(refused.error.value().sqlstate == "P0001");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (3)")->error);
  REQUIRE(!desk.execute("insert into note (number) values (-3)")->error);
  desk.transaction->end_call();
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes() == 2);
  CHECK(desk.done_events() == 1);
}

TEST_CASE("a deferred trigger that warns and then fails is refused, and in no doubt") {
  Desk desk{1};
  desk.defer("raise warning 'look'; raise 'no';");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (3)")->error);
  desk.transaction->end_call();
  const auto end = desk.commit_all();
  CHECK(end.kind == Kind::refused);
  CHECK(!end.was_in_doubt);
  CHECK(end.error.value().sqlstate == "P0001");
}

TEST_CASE("a deferred trigger that raises what a lost lease raises is refused: its lease is not lost") {
  Desk desk{1};
  desk.defer("raise 'no' using errcode = 'IL001';");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (3)")->error);
  desk.transaction->end_call();
  const auto end = desk.commit_all();
  CHECK(end.kind == Kind::refused);
  CHECK(end.error.value().sqlstate == "IL001");
  CHECK(end.lost.empty());
}

TEST_CASE("a deadlock repeats the transaction, whatever the handler says") {
  Desk desk{1};
  desk.inbox.database().run("insert into " + desk.app + ".note (number) values (1), (2)");
  Session other{desk.inbox.database().url(), desk.inbox.database().schema()};
  other.run("begin");
  other.run("update " + desk.app + ".note set text = 'other' where number = 2");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("set local deadlock_timeout = '50ms'")->error);
  REQUIRE(!desk.execute("update note set text = 'ours' where number = 1")->error);
  other.run("set deadlock_timeout = '1min'");
  std::thread meanwhile{[&] { other.run("update " + desk.app + ".note set text = 'other' where number = 1"); }};
  desk.inbox.database().wait_for("the other to wait", "select count(*) from pg_locks where not granted", 1);
  const auto result = desk.execute("update note set text = 'ours' where number = 2");
  REQUIRE(result->error);
  CHECK(result->error->sqlstate == "40P01");
  CHECK(result->error->will_repeat);
  CHECK(desk.transaction->state() == inbox::HandlerSql::State::over);
  CHECK(desk.transaction->end_call().must_repeat);
  desk.transaction->roll_back();
  meanwhile.join();
  other.run("commit");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("update note set text = 'ours'")->error);
  CHECK(!desk.transaction->end_call().must_repeat);
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes("text = 'ours'") == 2);
}
