#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "integration/transaction/handler_transaction_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Kind = transaction::CommitEnd::Kind;

TEST_CASE("a handler's writes and the outcome done are one commit") {
  HandlerTransactionFixture fixture{500};
  fixture.begin(0, 500);
  const auto result = fixture.with_events(insert_all);
  REQUIRE(!result->error);
  CHECK(result->affected == 500);
  CHECK(fixture.notes() == 0);
  CHECK(!fixture.transaction->end_call().unhandled_error);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes("text = '7'") == 500);
  CHECK(fixture.done_events() == 500);
  CHECK(fixture.inbox.pending_events() == 0);
}

TEST_CASE("a run can be settled in parts, each with its writes") {
  HandlerTransactionFixture fixture{10};
  for (std::size_t i = 0; i < 10; ++i) {
    fixture.begin(i, i + 1);
    REQUIRE(!fixture.with_events(insert_all)->error);
    fixture.transaction->end_call();
    auto settlement = fixture.done(i, i + 1);
    settlement.whole = i == 9;
    CHECK(fixture.commit(settlement).kind == Kind::committed);
    CHECK(fixture.notes() == static_cast<std::int64_t>(i + 1));
    CHECK(fixture.done_events() == static_cast<std::int64_t>(i + 1));
  }
  CHECK(fixture.inbox.database().number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("two transactions that settle the last parts of one run at the same time both commit") {
  HandlerTransactionFixture fixture{10};
  fixture.begin(5, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  Session other{fixture.inbox.database().url(), fixture.inbox.database().schema()};
  other.run("begin");
  other.run("update inbox.delivery set pending = pending - '{[0,5)}', events = events - 5");
  transaction::CommitEnd end;
  std::thread ours{[&] { end = fixture.commit(fixture.done(5, 10)); }};
  fixture.inbox.database().wait_for("it to wait for the row", "select count(*) from pg_locks where not granted", 1);
  other.run("commit");
  ours.join();
  CHECK(end.kind == Kind::committed);
  CHECK(fixture.notes() == 5);
  CHECK(fixture.inbox.database().number("select count(*) from inbox.outcome where offsets = '{[5,10)}'") == 1);
  CHECK(fixture.inbox.database().number("select count(*) from inbox.delivery") == 0);
}

TEST_CASE("a failed event and a part of another row are settled without a deadlock beside a worker that shares both") {
  HandlerTransactionFixture fixture{10};
  auto& database = fixture.inbox.database();
  const auto first = std::to_string(fixture.run->key.delivery_id);
  const auto second = database.number(
      "insert into inbox.delivery (handler_id, shard_id, pending, events, claims, owner, fence, due_at, received_from, "
      "received_to) select handler_id, shard_id, '{[5,10)}', 5, claims, owner, fence, due_at, received_from, "
      "received_to from inbox.delivery returning delivery_id");
  database.run("update inbox.delivery set pending = '{[0,5)}', events = 5 where delivery_id = $1", {first});
  inbox::Settlement failed;
  failed.key = {second, fixture.run->key.fence};
  inbox::RetryGroup again;
  again.offsets.add(fixture.run->events[5]->offset);
  again.delay = milliseconds{60'000};
  again.last_error = "sql.P0001: not yet";
  failed.retries.push_back(again);
  failed.failures.push_back({fixture.run->events[5]->event_id, 1, "sql.P0001", "not yet", milliseconds{1}});

  Session other{database.url(), database.schema()};
  const auto take = [&](const std::string& offsets, const std::string& row) {
    other.run(
        "update inbox.delivery set pending = pending - $1::int8multirange, events = events - 1 "
        "where delivery_id = $2",
        {offsets, row});
  };
  other.run("begin");
  take("{[1,2)}", first);
  transaction::CommitEnd end;
  std::thread ours{[&] { end = fixture.transaction->commit({failed, fixture.done(0, 1)}); }};
  database.wait_for("it to wait for the row", "select count(*) from pg_locks where not granted", 1);
  CHECK_NOTHROW(take("{[6,7)}", std::to_string(second)));
  CHECK_NOTHROW(other.run("commit"));
  ours.join();
  CHECK(end.kind == Kind::committed);
  CHECK(database.text("select string_agg(pending::text, ' ' order by lower(pending)) from inbox.delivery") ==
        "{[2,5)} {[5,6)} {[7,10)}");
}

TEST_CASE("events that are no longer pending cannot be settled, and the writes roll back") {
  HandlerTransactionFixture fixture{10};
  fixture.inbox.database().run("update inbox.delivery set pending = '{[0,5)}', events = 5");
  fixture.begin(5, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  CHECK(fixture.commit(fixture.done(5, 10)).kind == Kind::lost);
  CHECK(fixture.notes() == 0);
  CHECK(fixture.inbox.database().text("select pending from inbox.delivery") == "{[0,5)}");
}

TEST_CASE("a zombie's writes roll back, and the lost lease is named") {
  HandlerTransactionFixture fixture{10};
  fixture.begin(0, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  fixture.inbox.database().run("update inbox.delivery set fence = fence + 1");
  auto settlement = fixture.done(0, 10);
  SECTION("of a whole delivery") {}
  SECTION("of a part") { settlement = fixture.done(0, 5); }
  SECTION("of the last part") { settlement.whole = false; }
  SECTION("with a failed event") {
    settlement = fixture.done(0, 9);
    settlement.retries.push_back({event::OffsetSet{{9, 10}}, milliseconds{10}, "test: no", std::nullopt});
  }
  const auto end = fixture.commit(settlement);
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{fixture.run->key});
  CHECK(fixture.notes() == 0);
  CHECK(fixture.done_events() == 0);
}

TEST_CASE("a failed call among several is undone alone and recorded in the same transaction") {
  HandlerTransactionFixture fixture{3};
  for (std::size_t i = 0; i < 3; ++i) {
    fixture.begin(i, i + 1, false);
    REQUIRE(!fixture.with_events(insert_all)->error);
    if (i == 1) {
      const auto bad = fixture.execute("insert into note (number) values ($1)", {text_value("no number")});
      REQUIRE(bad->error);
      CHECK(bad->error->sqlstate == "22P02");
      CHECK(fixture.transaction->state() == transaction::HandlerSql::State::failed);
      CHECK(fixture.execute("select 1")->error->sqlstate == "25P02");
    }
    const auto end = fixture.transaction->end_call();
    CHECK(end.unhandled_error.has_value() == (i == 1));
    if (i == 1) fixture.transaction->undo_call();
  }
  auto settlement = fixture.done(0, 1);
  settlement.done.add(fixture.run->events[2]->offset);
  inbox::RetryGroup again;
  again.offsets.add(fixture.run->events[1]->offset);
  again.delay = milliseconds{60'000};
  again.last_error = "sql.22P02: no number";
  settlement.retries.push_back(again);
  settlement.failures.push_back({fixture.run->events[1]->event_id, 1, "sql.22P02", "no number", milliseconds{1}});
  settlement.whole = true;
  CHECK(fixture.commit(settlement).kind == Kind::committed);
  CHECK(fixture.notes() == 2);
  CHECK(fixture.done_events() == 2);
  CHECK(fixture.inbox.database().text("select error_class from inbox.failures") == "sql.22P02");
}

TEST_CASE("undoing a call without a failed statement keeps the writes of the calls before it") {
  HandlerTransactionFixture fixture{3};
  for (std::size_t i = 0; i < 3; ++i) {
    fixture.begin(i, i + 1, false);
    REQUIRE(!fixture.with_events(insert_all)->error);
    const auto end = fixture.transaction->end_call();
    CHECK(!end.unhandled_error);
    if (i == 1) fixture.transaction->undo_call();  // its verdict is dead
  }
  auto settlement = fixture.done(0, 1);
  settlement.done.add(fixture.run->events[2]->offset);
  inbox::RetryGroup again;
  again.offsets.add(fixture.run->events[1]->offset);
  again.delay = milliseconds{60'000};
  settlement.retries.push_back(again);
  settlement.whole = true;
  CHECK(fixture.commit(settlement).kind == Kind::committed);
  CHECK(fixture.notes() == 2);
  CHECK(fixture.done_events() == 2);
}

TEST_CASE("a handler cannot roll back to a savepoint of an earlier call") {
  HandlerTransactionFixture fixture{2};
  fixture.begin(0, 1, false);
  const auto early = fixture.transaction->savepoint();
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  fixture.begin(1, 2, false);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->rollback_to(early);
  fixture.transaction->end_call();
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes() == 2);
}

TEST_CASE("a failed call alone in its transaction is undone without a savepoint and recorded") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  fixture.transaction->undo_call();
  inbox::Settlement settlement;
  settlement.key = fixture.run->key;
  settlement.dead.push_back({fixture.run->events[0]->offset, fixture.run->events[0]->event_id});
  settlement.failures.push_back({fixture.run->events[0]->event_id, 1, "no", "no", milliseconds{1}});
  settlement.whole = true;
  CHECK(fixture.commit(settlement).kind == Kind::committed);
  CHECK(fixture.notes() == 0);
  CHECK(fixture.inbox.database().number("select count(*) from inbox.dead_letters") == 1);
}

TEST_CASE("savepoints undo later writes and failures, and nest") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (1)")->error);
  const auto outer = fixture.transaction->savepoint();
  REQUIRE(!fixture.execute("insert into note (number) values (2)")->error);
  const auto inner = fixture.transaction->savepoint();
  REQUIRE(fixture.execute("insert into nowhere values (3)")->error);
  fixture.transaction->rollback_to(inner);
  REQUIRE(!fixture.execute("insert into note (number) values (4)")->error);
  const auto kept = fixture.transaction->savepoint();
  REQUIRE(!fixture.execute("insert into note (number) values (5)")->error);
  fixture.transaction->release_savepoint(kept);
  fixture.transaction->rollback_to(outer);
  REQUIRE(!fixture.execute("insert into note (number) values (6)")->error);
  CHECK(!fixture.transaction->end_call().unhandled_error);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes() == 2);
  CHECK(fixture.notes("number in (1, 6)") == 2);
}

TEST_CASE("a COMMIT that the database refuses is reported and keeps nothing") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("create table " + fixture.app + ".once (n int unique deferrable initially deferred)");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into once values (1), (1)")->error);
  fixture.transaction->end_call();
  const auto end = fixture.commit_all();
  CHECK(end.kind == Kind::refused);
  REQUIRE(end.error);
  CHECK(end.error->sqlstate == "23505");
  CHECK(fixture.done_events() == 0);
  // The worker's next transaction works.
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into once values (1)")->error);
  fixture.transaction->end_call();
  CHECK(fixture.commit_all().kind == Kind::committed);
}

TEST_CASE("a missing right of the daemon's own statements is told apart from the handler's") {
  HandlerTransactionFixture fixture{10};
  fixture.refuse_outcomes("42501");
  const bool whole = GENERATE(true, false);
  const auto end_of_call = [&] {
    fixture.begin(0, 5);
    REQUIRE(!fixture.with_events(insert_all)->error);
    fixture.transaction->end_call();
    return fixture.commit(fixture.done(0, whole ? 10 : 5));
  };
  const auto end = end_of_call();
  CHECK(end.kind == Kind::unsettled);
  CHECK(end.error.value().sqlstate == "42501");
  CHECK(fixture.notes() == 0);
  fixture.inbox.database().run("drop trigger no on inbox.outcome");
  CHECK(end_of_call().kind == Kind::committed);
  CHECK(fixture.notes() == 5);
}

namespace {

/// Commits ten events of which the first failed with that message.
transaction::CommitEnd commit_failure(HandlerTransactionFixture& fixture, const std::string& message) {
  fixture.begin(1, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  auto settlement = fixture.done(1, 10);
  inbox::RetryGroup again;
  again.offsets.add(fixture.run->events[0]->offset);
  again.delay = milliseconds{60'000};
  again.last_error = "no: " + message;
  settlement.retries.push_back(again);
  settlement.failures.push_back({fixture.run->events[0]->event_id, 1, "no", message, milliseconds{1}});
  settlement.whole = true;
  return fixture.commit(settlement);
}

}  // namespace

TEST_CASE("a message outside the database's encoding repeats the transaction and is then written in ASCII") {
  HandlerTransactionFixture fixture{10};
  const std::string message = "zu sp\xe4t";  // invalid in UTF-8
  const auto end = commit_failure(fixture, message);
  CHECK(end.kind == Kind::repeat);
  CHECK(end.error.value().sqlstate == "22021");
  CHECK(fixture.notes() == 0);
  CHECK(commit_failure(fixture, message).kind == Kind::committed);
  CHECK(fixture.notes() == 9);
  CHECK(fixture.inbox.database().text("select message from inbox.failures") == "zu sp?t");
}

TEST_CASE("data that is refused in ASCII, too, is refused for good") {
  HandlerTransactionFixture fixture{10};
  fixture.refuse_outcomes("22P05");
  CHECK(commit_failure(fixture, "late").kind == Kind::repeat);
  CHECK(commit_failure(fixture, "late").kind == Kind::refused);
}

TEST_CASE("deferred triggers run under the handler's search path, and their errors count as the handler's") {
  HandlerTransactionFixture fixture{1};
  fixture.defer("if (select sum(number) from note) <> 0 then raise 'the books do not balance'; end if;");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (3)")->error);
  fixture.transaction->end_call();
  const auto refused = fixture.commit_all();
  CHECK(refused.kind == Kind::refused);
  CHECK(refused.error.value().sqlstate == "P0001");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (3)")->error);
  REQUIRE(!fixture.execute("insert into note (number) values (-3)")->error);
  fixture.transaction->end_call();
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes() == 2);
  CHECK(fixture.done_events() == 1);
}

TEST_CASE("a deferred trigger that warns and then fails is refused, and not in doubt") {
  HandlerTransactionFixture fixture{1};
  fixture.defer("raise warning 'look'; raise 'no';");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (3)")->error);
  fixture.transaction->end_call();
  const auto end = fixture.commit_all();
  CHECK(end.kind == Kind::refused);
  CHECK(!end.was_in_doubt);
  CHECK(end.error.value().sqlstate == "P0001");
}

TEST_CASE("a deferred trigger that raises the SQLSTATE of a lost lease is refused, without losing its lease") {
  HandlerTransactionFixture fixture{1};
  fixture.defer("raise 'no' using errcode = 'IL001';");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (3)")->error);
  fixture.transaction->end_call();
  const auto end = fixture.commit_all();
  CHECK(end.kind == Kind::refused);
  CHECK(end.error.value().sqlstate == "IL001");
  CHECK(end.lost.empty());
}

// fault: deadlock
TEST_CASE("a deadlock repeats the transaction, whatever the handler's verdict") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("insert into " + fixture.app + ".note (number) values (1), (2)");
  Session other{fixture.inbox.database().url(), fixture.inbox.database().schema()};
  other.run("begin");
  other.run("update " + fixture.app + ".note set text = 'other' where number = 2");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("set local deadlock_timeout = '50ms'")->error);
  REQUIRE(!fixture.execute("update note set text = 'ours' where number = 1")->error);
  other.run("set deadlock_timeout = '1min'");
  std::thread meanwhile{[&] { other.run("update " + fixture.app + ".note set text = 'other' where number = 1"); }};
  fixture.inbox.database().wait_for("the other to wait", "select count(*) from pg_locks where not granted", 1);
  const auto result = fixture.execute("update note set text = 'ours' where number = 2");
  REQUIRE(result->error);
  CHECK(result->error->sqlstate == "40P01");
  CHECK(result->error->will_repeat);
  CHECK(fixture.transaction->state() == transaction::HandlerSql::State::over);
  CHECK(fixture.transaction->end_call().must_repeat);
  fixture.transaction->roll_back();
  meanwhile.join();
  other.run("commit");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("update note set text = 'ours'")->error);
  CHECK(!fixture.transaction->end_call().must_repeat);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes("text = 'ours'") == 2);
}

// fault: lock timeout
TEST_CASE("a lock timeout repeats the transaction, which keeps nothing of the first try") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("insert into " + fixture.app + ".note (number) values (1), (2)");
  Session other{fixture.inbox.database().url(), fixture.inbox.database().schema()};
  other.run("begin; update " + fixture.app + ".note set text = 'other' where number = 2");
  fixture.lock_wait = milliseconds{50};
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("update note set text = 'ours' where number = 1")->error);
  const auto result = fixture.execute("update note set text = 'ours' where number = 2");
  REQUIRE(result->error);
  CHECK(result->error->sqlstate == "55P03");
  CHECK(result->error->will_repeat);
  CHECK(fixture.transaction->end_call().must_repeat);
  fixture.transaction->roll_back();
  CHECK(fixture.notes("text = 'ours'") == 0);
  other.run("commit");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("update note set text = 'ours'")->error);
  CHECK(!fixture.transaction->end_call().must_repeat);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes("text = 'ours'") == 2);
}

// fault: serialization failure
TEST_CASE("rolling back to a savepoint after a serialization failure hides neither the repetition nor its reason") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("create function " + fixture.app +
                               ".unlucky() returns int language plpgsql as $$ begin "
                               "raise 'not now' using errcode = '40001'; end $$");
  fixture.begin(0, 1);
  const auto point = fixture.transaction->savepoint();
  CHECK(fixture.execute("select unlucky()")->error.value().will_repeat);
  fixture.transaction->rollback_to(point);
  CHECK(fixture.transaction->state() == transaction::HandlerSql::State::over);
  CHECK(fixture.execute("select 1")->error.value().will_repeat);
  const auto end = fixture.transaction->end_call();
  CHECK(end.must_repeat);
  CHECK(end.unhandled_error.value().sqlstate == "40001");
  fixture.transaction->roll_back();
  fixture.begin(0, 1);
  CHECK(!fixture.execute("select 1")->error);
  CHECK(!fixture.transaction->end_call().must_repeat);
  CHECK(fixture.commit_all().kind == transaction::CommitEnd::Kind::committed);
}
