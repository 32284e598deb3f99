#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <thread>

#include "integration/transaction/handler_transaction_fixture.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Kind = transaction::CommitEnd::Kind;

namespace {

/// The session and its writes are lost: nothing is charged, and the next try works.
void check_lost_and_repeated(HandlerTransactionFixture& fixture) {
  const auto result = fixture.execute("select 1");
  REQUIRE(result->error);
  CHECK(result->error->will_repeat);
  CHECK(fixture.transaction->end_call().must_repeat);
  fixture.transaction->roll_back();
  fixture.begin(0, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes() == 10);
}

}  // namespace

TEST_CASE("after a connection lost during COMMIT the outcome is looked up before anything repeats") {
  const bool was_done = GENERATE(false, true);
  CAPTURE(was_done);
  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  HandlerTransactionFixture fixture{
      10, "{}", [&](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  fixture.begin(0, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  proxy.cut_at("commit", was_done ? Proxy::Cut::after : Proxy::Cut::before);
  const auto end = fixture.commit_all();
  CHECK(end.was_in_doubt);
  CHECK(end.kind == (was_done ? Kind::committed : Kind::repeat));
  CHECK(fixture.notes() == (was_done ? 10 : 0));
  CHECK(fixture.done_events() == (was_done ? 10 : 0));
}

namespace {

/// A COMMIT that does not reach the server. Its connection goes through a proxy that then refuses all others.
struct CommitInDoubt {
  explicit CommitInDoubt(std::size_t first = 0, std::size_t end_of_done = 10) {
    fixture.begin(0, 10);
    REQUIRE(!fixture.with_events(insert_all)->error);
    fixture.transaction->end_call();
    proxy.refuse(true);
    proxy.cut_at("commit", Proxy::Cut::before);
    committing = std::thread{[=, this] { end = fixture.commit(fixture.done(first, end_of_done)); }};
    wait_until("the connection is cut", [this] { return proxy.cuts() == 1; });
  }
  ~CommitInDoubt() {
    if (committing.joinable()) resolve();
  }
  transaction::CommitEnd resolve() {
    proxy.refuse(false);
    committing.join();
    return end;
  }

  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  HandlerTransactionFixture fixture{
      10, "{}", [this](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  transaction::CommitEnd end;
  std::thread committing;
};

}  // namespace

TEST_CASE("a COMMIT in doubt whose deliveries have another owner did not commit: its leases are lost") {
  CommitInDoubt doubt;
  doubt.fixture.inbox.database().run("update inbox.delivery set fence = fence + 1");
  const auto end = doubt.resolve();
  CHECK(end.was_in_doubt);
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{doubt.fixture.run->key});
  CHECK(doubt.fixture.notes() == 0);
}

TEST_CASE("a COMMIT in doubt whose delivery was claimed in halves did not commit: its leases are lost") {
  const auto [first, end_of_done] = GENERATE(table<std::size_t, std::size_t>({{0, 10}, {0, 5}, {5, 10}}));
  CAPTURE(first, end_of_done);
  CommitInDoubt doubt{first, end_of_done};
  auto& inbox = doubt.fixture.inbox;
  inbox.database().run("update inbox.delivery set due_at = now() - interval '1 s'");
  REQUIRE(events_in(claim_due(inbox.connection(), doubt.fixture.handler, base::random_uuid()).runs) == 5);
  REQUIRE(inbox.database().number("select count(*) from inbox.delivery") == 2);
  const auto end = doubt.resolve();
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{doubt.fixture.run->key});
}

TEST_CASE("the outcome of a COMMIT is looked up with backoff while the database is down") {
  CommitInDoubt doubt;
  const auto tried = [&, before = doubt.proxy.accepted()] { return doubt.proxy.accepted() - before; };
  holds_for("few tries", milliseconds{1'600}, [&] { return tried() <= 6; });
  CHECK(tried() >= 2);
  CHECK(doubt.resolve().kind == Kind::repeat);
}

TEST_CASE("a connection lost inside a transaction loses all of it, and the next try works") {
  HandlerTransactionFixture fixture{10};
  fixture.begin(0, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.inbox.database().run(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'inboxd test'"
      " and state = 'idle in transaction'");
  check_lost_and_repeated(fixture);
}

TEST_CASE("a transaction that the server ended for being idle is repeated, and its event not charged") {
  HandlerTransactionFixture fixture{10};
  fixture.begin(0, 10);
  REQUIRE(!fixture.with_events(insert_all)->error);
  REQUIRE(!fixture.execute("set local idle_in_transaction_session_timeout = '20ms'")->error);
  fixture.inbox.database().wait_for("the server to end it",
                                    "select count(*) from pg_stat_activity where application_name = 'inboxd test'"
                                    " and state = 'idle in transaction'",
                                    0);
  check_lost_and_repeated(fixture);
}

TEST_CASE("a statement that the server does not cancel is cut off, is no crash, and the next waits for its end") {
  HandlerTransactionFixture fixture{1};
  const std::string mark = "/* " + fixture.app + " */";
  fixture.begin(0, 1, true, milliseconds{200});
  CHECK(fixture
            .execute("do $$ " + mark +
                     " begin perform pg_sleep(60);"
                     " exception when query_canceled then perform pg_sleep(60); end $$")
            ->error);
  const auto cut = fixture.transaction->end_call();
  CHECK(cut.must_repeat);
  CHECK(cut.was_cut_off);
  CHECK(!cut.lost_in_statement);
  fixture.transaction->roll_back();
  fixture.begin(0, 1);
  CHECK(fixture.execute("select 1")->error.value().will_repeat);
  const auto waiting = fixture.transaction->end_call();
  CHECK(waiting.must_repeat);
  CHECK(!waiting.was_cut_off);
  CHECK(!waiting.lost_in_statement);
  fixture.transaction->roll_back();
  const std::string of_ours = " from pg_stat_activity where pid <> pg_backend_pid() and query like '%" + mark + "%'";
  fixture.inbox.database().run("select pg_terminate_backend(pid)" + of_ours);
  fixture.inbox.database().wait_for("the server to end it", "select count(*)" + of_ours, 0);
  fixture.begin(0, 1);
  CHECK(!fixture.execute("select 1")->error);
  CHECK(!fixture.transaction->end_call().must_repeat);
  CHECK(fixture.commit_all().kind == Kind::committed);
}

TEST_CASE("a connection lost during a statement is reported as that") {
  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  HandlerTransactionFixture fixture{
      1, "{}", [&](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  const std::string sleeping = "select count(*) from pg_stat_activity where query like 'select pg_sleep(60) /* " +
                               fixture.app + "%' and state = 'active'";
  fixture.begin(0, 1);
  std::thread cutter{[&] {
    fixture.inbox.database().wait_for("it to sleep", sleeping, 1);
    proxy.cut();
  }};
  CHECK(fixture.execute("select pg_sleep(60) /* " + fixture.app + " */")->error);
  cutter.join();
  const auto end = fixture.transaction->end_call();
  CHECK(end.lost_in_statement);
  CHECK(!end.was_cut_off);
}

TEST_CASE("a transaction that was cut ends at once, for good") {
  HandlerTransactionFixture fixture{1};
  fixture.begin(0, 1);
  REQUIRE(!fixture.with_events(insert_all)->error);
  std::thread cutter{[&] {
    fixture.inbox.database().wait_for("it to sleep",
                                      "select count(*) from pg_stat_activity where wait_event = 'PgSleep'", 1);
    fixture.transaction->cut();
  }};
  CHECK(fixture.execute("select pg_sleep(8)")->error);
  cutter.join();
  CHECK(fixture.execute("select 1")->error);
  CHECK(fixture.transaction->end_call().must_repeat);
  CHECK(fixture.commit_all().kind == Kind::repeat);
  CHECK(fixture.notes() == 0);
}

TEST_CASE("a call that used its time for connecting is repeated with a connection and all of its time") {
  Proxy proxy{port_of(needed("INBOXD_TEST_PG"))};
  HandlerTransactionFixture fixture{
      10, "{}", [&](config::Database& settings) { settings.url = url_with_port(settings.url, proxy.port()); }};
  proxy.freeze(true);
  const auto deadline = std::chrono::steady_clock::now() + milliseconds{300};
  std::thread thawing{[&] {
    wait_until("the call is past its deadline", [&] { return std::chrono::steady_clock::now() > deadline; });
    proxy.freeze(false);
  }};
  fixture.begin(0, 10, true, milliseconds{200});
  fixture.execute("select pg_sleep(0.05)");
  thawing.join();
  const auto end = fixture.transaction->end_call();
  CHECK(end.must_repeat);
  CHECK(!end.lost_in_statement);
  fixture.transaction->roll_back();
  fixture.begin(0, 10, true, milliseconds{200});
  CHECK(fixture.execute("select pg_sleep(8)")->error.value().sqlstate == "57014");
  CHECK(!fixture.transaction->end_call().must_repeat);  // the statement used up the time
  CHECK(proxy.accepted() == 1);
}
