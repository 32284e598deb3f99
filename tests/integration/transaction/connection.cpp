// What breaks a worker's connection, when, and what becomes of its transaction then.
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

/// The session is gone, and with it what ten events wrote: nobody is charged, and the next try works.
void check_lost_and_repeated(Desk& desk) {
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

}  // namespace

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
  explicit Doubt(std::size_t first = 0, std::size_t end_of_done = 10) {
    desk.begin(0, 10);
    REQUIRE(!desk.with_events(insert_all)->error);
    desk.transaction->end_call();
    proxy.refuse(true);
    proxy.cut_at("commit", Proxy::Cut::before);
    committing = std::thread{[=, this] { end = desk.commit(desk.done(first, end_of_done)); }};
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

TEST_CASE("a COMMIT in doubt whose rows somebody has claimed in halves was none: its leases are lost") {
  const auto [first, end_of_done] = GENERATE(table<std::size_t, std::size_t>({{0, 10}, {0, 5}, {5, 10}}));
  CAPTURE(first, end_of_done);
  Doubt doubt{first, end_of_done};
  auto& inbox = doubt.desk.inbox;
  inbox.database().run("update inbox.delivery set due_at = now() - interval '1 s'");
  REQUIRE(events_in(claim_due(inbox.connection(), doubt.desk.handler, base::random_uuid()).runs) == 5);
  REQUIRE(inbox.database().number("select count(*) from inbox.delivery") == 2);
  const auto end = doubt.resolve();
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{doubt.desk.run->key});
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
  check_lost_and_repeated(desk);
}

TEST_CASE("a transaction that the server ended because we stood still is repeated, and its event not charged") {
  Desk desk{10};
  desk.begin(0, 10);
  REQUIRE(!desk.with_events(insert_all)->error);
  REQUIRE(!desk.execute("set local idle_in_transaction_session_timeout = '20ms'")->error);
  desk.inbox.database().wait_for("the server to end it",
                                 "select count(*) from pg_stat_activity where application_name = 'inboxd test'"
                                 " and state = 'idle in transaction'",
                                 0);
  check_lost_and_repeated(desk);
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
