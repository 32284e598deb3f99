// What a handler writes and what became of its events are one commit.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "integration/transaction/desk.hpp"
#include "support/environment.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Kind = inbox::CommitEnd::Kind;

namespace {

constexpr const char* insert_all = "insert into note (id, text) select event_id, body->>'order' from events";

}  // namespace

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
  desk.inbox.database().run("create function " + desk.app +
                            ".no() returns trigger language plpgsql as "
                            "$$ begin raise 'permission denied' using errcode = '42501'; end $$");
  desk.inbox.database().run("create trigger no before insert on inbox.outcome for each row execute function " +
                            desk.app + ".no()");
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
  desk.inbox.database().run("create function " + desk.app +
                            ".no() returns trigger language plpgsql as $$ begin raise 'no' using errcode = '22P05'; "
                            "end $$");
  desk.inbox.database().run("create trigger no before insert on inbox.outcome for each row execute function " +
                            desk.app + ".no()");
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

TEST_CASE("a connection that breaks during COMMIT is asked about, and never repeated blindly") {
  const bool was_done = GENERATE(false, true);
  CAPTURE(was_done);
  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  Desk desk{10, "{}", [&](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  desk.begin(0, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  proxy.cut_at("commit", was_done ? Proxy::Cut::after : Proxy::Cut::before);
  const auto end = desk.commit_all();
  CHECK(end.was_in_doubt);
  CHECK(end.kind == (was_done ? Kind::committed : Kind::repeat));
  CHECK(desk.notes() == (was_done ? 10 : 0));
  CHECK(desk.done_events() == (was_done ? 10 : 0));
}

namespace {

/// A COMMIT that does not reach the server, on a connection of its own through a proxy that then lets nobody through.
struct Doubt {
  Doubt() {
    desk.begin(0, 10);
    REQUIRE(!desk.with_events(insert_all)->error);
    desk.transaction->end_call();
    proxy.refuse(true);
    proxy.cut_at("commit", Proxy::Cut::before);
    committing = std::thread{[this] { end = desk.commit_all(); }};
    wait_until("the connection is cut", [this] { return proxy.cuts() == 1; });
  }
  ~Doubt() {
    if (committing.joinable()) resolve();
  }
  inbox::CommitEnd resolve() {
    proxy.refuse(false);
    committing.join();
    return end;
  }

  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  Desk desk{10, "{}", [this](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  inbox::CommitEnd end;
  std::thread committing;
};

}  // namespace

TEST_CASE("a COMMIT in doubt whose rows somebody else has by now was none: its leases are lost") {
  Doubt doubt;
  doubt.desk.inbox.database().run("update inbox.delivery set fence = fence + 1");
  const auto end = doubt.resolve();
  CHECK(end.was_in_doubt);
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{doubt.desk.run->key});
  CHECK(doubt.desk.notes() == 0);
}

TEST_CASE("what became of a COMMIT is asked less and less often while the database is away") {
  Doubt doubt;
  const auto tried = [&, before = doubt.proxy.accepted()] { return doubt.proxy.accepted() - before; };
  holds_for("few tries", milliseconds{1'600}, [&] { return tried() <= 6; });
  CHECK(tried() >= 2);
  CHECK(doubt.resolve().kind == Kind::repeat);
}

TEST_CASE("a connection that breaks in the middle loses everything, and the next try works") {
  Desk desk{10};
  desk.begin(0, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.inbox.database().run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inboxd test'"
      " and state = 'idle in transaction'");
  const auto result = desk.execute("select 1");
  REQUIRE(result->error);
  CHECK(result->error->will_repeat);
  CHECK(desk.transaction->end_call().must_repeat);
  desk.transaction->roll_back();
  desk.begin(0, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes() == 10);
}

TEST_CASE("a statement that the server does not end is cut off, which is no crash, and the next waits for its end") {
  Desk desk{1};
  const std::string mark = "/* " + desk.app + " */";
  desk.begin(0, 1, true, milliseconds{200});
  CHECK(desk.execute("do $$ " + mark +
                     " begin perform pg_sleep(60);"
                     " exception when query_canceled then perform pg_sleep(60); end $$")
            ->error);
  const auto cut = desk.transaction->end_call();
  CHECK(cut.must_repeat);
  CHECK(cut.was_cut_off);
  CHECK(!cut.lost_in_statement);
  desk.transaction->roll_back();
  desk.begin(0, 1);
  CHECK(desk.execute("select 1")->error.value().will_repeat);
  const auto waiting = desk.transaction->end_call();
  CHECK(waiting.must_repeat);
  CHECK(!waiting.was_cut_off);
  CHECK(!waiting.lost_in_statement);
  desk.transaction->roll_back();
  const std::string of_ours = " from pg_stat_activity where pid <> pg_backend_pid() and query like '%" + mark + "%'";
  desk.inbox.database().run("select pg_terminate_backend(pid)" + of_ours);
  desk.inbox.database().wait_for("the server to end it", "select count(*)" + of_ours, 0);
  desk.begin(0, 1);
  CHECK(!desk.execute("select 1")->error);
  CHECK(!desk.transaction->end_call().must_repeat);
  CHECK(desk.commit_all().kind == Kind::committed);
}

TEST_CASE("a connection that somebody else breaks while a statement runs is told as such") {
  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  Desk desk{1, "{}", [&](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  const std::string sleeping = "select count(*) from pg_stat_activity where query like 'select pg_sleep(60) /* " +
                               desk.app + "%' and state = 'active'";
  desk.begin(0, 1);
  std::thread cutter{[&] {
    desk.inbox.database().wait_for("it to sleep", sleeping, 1);
    proxy.cut();
  }};
  CHECK(desk.execute("select pg_sleep(60) /* " + desk.app + " */")->error);
  cutter.join();
  const auto end = desk.transaction->end_call();
  CHECK(end.lost_in_statement);
  CHECK(!end.was_cut_off);
}

TEST_CASE("a transaction that was cut ends at once and never works again") {
  Desk desk{1};
  desk.begin(0, 1);
  REQUIRE(!desk.with_events(insert_all)->error);
  std::thread cutter{[&] {
    desk.inbox.database().wait_for("it to sleep", "select count(*) from pg_stat_activity where wait_event = 'PgSleep'",
                                   1);
    desk.transaction->cut();
  }};
  CHECK(desk.execute("select pg_sleep(8)")->error);
  cutter.join();
  CHECK(desk.execute("select 1")->error);
  CHECK(desk.transaction->end_call().must_repeat);
  CHECK(desk.commit_all().kind == Kind::repeat);
  CHECK(desk.notes() == 0);
}

TEST_CASE("a call whose time went by in connecting is repeated, and then has a connection and all of its time") {
  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  Desk desk{10, "{}", [&](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  proxy.freeze(true);
  const auto deadline = std::chrono::steady_clock::now() + milliseconds{300};
  std::thread thawing{[&] {
    wait_until("the call is past its deadline", [&] { return std::chrono::steady_clock::now() > deadline; });
    proxy.freeze(false);
  }};
  desk.begin(0, 10, true, milliseconds{200});
  desk.execute("select pg_sleep(0.05)");
  thawing.join();
  const auto end = desk.transaction->end_call();
  CHECK(end.must_repeat);
  CHECK(!end.lost_in_statement);
  desk.transaction->roll_back();
  desk.begin(0, 10, true, milliseconds{200});
  CHECK(desk.execute("select pg_sleep(8)")->error.value().sqlstate == "57014");
  CHECK(!desk.transaction->end_call().must_repeat);  // that was the statement's own
  CHECK(proxy.accepted() == 1);
}
