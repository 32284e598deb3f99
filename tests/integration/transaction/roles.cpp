// A role of its own for handlers' SQL, and poolers.
#include "integration/support/roles.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "integration/transaction/desk.hpp"
#include "support/environment.hpp"
#include "support/pgbouncer.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Kind = inbox::CommitEnd::Kind;

namespace {

/// A role without rights on the inbox, for the time of a test.
class Role final {
 public:
  explicit Role(Desk& desk) : desk_{desk}, name{desk.app + "_role"} {
    desk_.inbox.database().run("create role " + name);
    desk_.inbox.database().run("grant usage on schema " + desk_.app + " to " + name);
    desk_.inbox.database().run("grant insert, select on " + desk_.app + ".note to " + name);
    desk_.settings.handler_role = name;
    desk_.transaction = desk_.inbox.transaction(desk_.settings);
  }
  ~Role() {
    desk_.transaction.reset();
    desk_.inbox.database().run("drop owned by " + name);
    desk_.inbox.database().run("drop role " + name);
  }
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;

 private:
  Desk& desk_;

 public:
  const std::string name;
};

}  // namespace

TEST_CASE("a handler's role has no right on the inbox, and sees its events all the same") {
  const bool prepare = GENERATE(true, false);
  CAPTURE(prepare);
  Desk desk{10, "{\"order\": 7}", [&](config::Database& settings) { settings.prepare = prepare; }};
  const Role role{desk};
  desk.begin(0, 5, false);
  REQUIRE(!desk.with_events(insert_all)->error);
  for (const bool sent : {true, false}) {
    desk.has_content = sent;
    desk.begin(0, 5, false);
    const auto all = desk.with_events("select key, headers, source_id, body, e::text from events e");
    CHECK(!all->error);
    CHECK(all->rows == 5);
  }
  const auto who = desk.execute("select current_user::text");
  CHECK(who->value(0, 0).bytes == role.name);
  const auto point = desk.transaction->savepoint();
  const auto denied = desk.execute("select count(*) from " + desk.inbox.database().schema() + ".event");
  REQUIRE(denied->error);
  CHECK(denied->error->sqlstate == "42501");
  desk.transaction->rollback_to(point);
  CHECK(!desk.transaction->end_call().misdeed);
  desk.begin(5, 10, false);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes() == 10);
  CHECK(desk.done_events() == 10);
}

TEST_CASE("a daemon with the rights of sql/roles.sql alone runs handlers under a role with none") {
  Desk desk{40, "{\"order\": 7}"};
  const Role role{desk};
  {
    Roles roles{desk.inbox};
    desk.inbox.database().run("grant " + role.name + " to " + roles.name("login"));
    auto settings = roles.settings_of({"ingest", "worker"});
    settings.handler_role = role.name;
    settings.handler_search_path = desk.app;
    CHECK(!desk.inbox.describer(settings)->describe({insert_all, {}, true, 0, 0})->error);
    desk.transaction = desk.inbox.transaction(settings);
    desk.begin(0, 5, false);  // sent
    CHECK(!desk.with_events("select key, headers, source_id, body, e::text from events e")->error);
    desk.begin(0, 40, false);  // read in place
    CHECK(!desk.with_events("select key, headers, source_id, body, e::text from events e")->error);
    REQUIRE(!desk.with_events(insert_all)->error);
    CHECK(!desk.transaction->end_call().misdeed);
    CHECK(desk.commit_all().kind == Kind::committed);
    CHECK(desk.notes() == 40);
    desk.transaction.reset();
  }
}

TEST_CASE("deferred triggers run under the handler's role, as its statements do") {
  Desk desk{1};
  const Role role{desk};
  desk.defer("insert into note (text) values (current_user);", "new.number = 1");
  desk.begin(0, 1);
  REQUIRE(!desk.execute("insert into note (number) values (1)")->error);
  desk.transaction->end_call();
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes("text = '" + role.name + "'") == 1);
}

TEST_CASE("a role that a function set for the session is not the daemon's when it asks whose a lease is") {
  Desk desk{6};
  const Role role{desk};
  const std::string set_role = "select set_config('role', $1, false)";
  for (std::size_t i = 0; i < 5; ++i) {  // trusted by then
    desk.begin(i, i + 1);
    REQUIRE(!desk.execute(set_role, {text_value(i < 4 ? "none" : role.name)})->error);
    auto settlement = desk.done(i, i + 1);
    settlement.whole = false;
    REQUIRE(desk.commit(settlement).kind == Kind::committed);
  }
  desk.inbox.database().run("update inbox.delivery set fence = fence + 1");
  desk.begin(5, 6);
  REQUIRE(!desk.execute("insert into note (number) values (1)")->error);
  const auto end = desk.commit(desk.done(5, 6));
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{desk.run->key});
}

TEST_CASE("a right that is missing is missing in the handler's statement, with events or without") {
  Desk desk{1};
  desk.inbox.database().run("create table " + desk.app + ".secret (id uuid)");
  const Role role{desk};
  const std::string insert = "insert into secret select event_id from events";
  desk.begin(0, 1);
  const auto denied = desk.with_events(insert);
  REQUIRE(denied->error);
  CHECK(denied->error->sqlstate == "42501");
  CHECK(!denied->error->will_repeat);
  desk.transaction->roll_back();
}

TEST_CASE("a table that changes under a role without rights is planned again") {
  Desk desk{1};
  const Role role{desk};
  desk.begin(0, 1);
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->roll_back();
  desk.inbox.database().run("alter table " + desk.app + ".note add more int");
  bool worked = false;
  for (int tries = 0; tries < 2 && !worked; ++tries) {
    desk.begin(0, 1);
    const auto result = desk.with_events(insert_all);
    worked = !result->error;
    if (!worked) CHECK(result->error->will_repeat);
    desk.transaction->end_call();
    if (!worked) desk.transaction->roll_back();
  }
  CHECK(worked);
  CHECK(desk.commit_all().kind == Kind::committed);
  CHECK(desk.notes() == 1);
}

TEST_CASE("statements are checked without being run: syntax, tables, columns and rights, with the position") {
  Desk desk{1};
  desk.inbox.database().run("create table " + desk.app + ".secret (id uuid)");
  const Role role{desk};
  const auto describer = desk.inbox.describer(desk.settings);
  const auto ask = [&](const std::string& sql) { return describer->describe({sql, {}, true, 0, 0}); };
  const auto good = ask("insert into note (id) select event_id from events returning id, text");
  REQUIRE(good);
  CHECK(!good->error);
  CHECK(good->columns.size() == 2);
  CHECK(desk.notes() == 0);
  CHECK(ask("insert into note (id) selec event_id from events")->error->sqlstate == "42601");
  CHECK(ask("insert into note (id) selec event_id from events")->error->position == 23);
  CHECK(ask("insert into nothing select event_id from events")->error->sqlstate == "42P01");
  CHECK(ask("insert into nothing select event_id from events")->error->position == 13);
  CHECK(ask("select evnt_id from events")->error->sqlstate == "42703");
  CHECK(ask("insert into secret select event_id from events")->error->sqlstate == "42501");
  CHECK(ask("commit")->error->sqlstate == "0A000");
}

TEST_CASE("behind a pooler in transaction mode, with prepared statements switched off") {
  const PgBouncer pooler{needed("INBOXD_TEST_PG")};
  Desk desk{20, "{\"order\": 7}", [&](config::Database& settings) {
              settings.url = pooler.url();
              settings.prepare = false;
            }};
  const Role role{desk};
  for (std::size_t i = 0; i < 20; i += 2) {
    for (const std::size_t each : {i, i + 1}) {
      desk.begin(each, each + 1, false);
      REQUIRE(!desk.with_events(insert_all)->error);
      CHECK(!desk.transaction->end_call().misdeed);
    }
    auto settlement = desk.done(i, i + 2);
    settlement.whole = i == 18;
    CHECK(desk.commit(settlement).kind == Kind::committed);
  }
  CHECK(desk.notes() == 20);
  CHECK(desk.done_events() == 20);
  Session pooled{pooler.url(), desk.inbox.database().schema()};
  CHECK(pooled.number("select count(*) from pg_prepared_statements") == 0);
}

TEST_CASE("a pooled session is left without prepared statements, also where a transaction fails") {
  const PgBouncer pooler{needed("INBOXD_TEST_PG")};
  Desk desk{2, "{\"order\": 7}", [&](config::Database& settings) {
              settings.url = pooler.url();
              settings.prepare = false;
            }};
  Session pooled{pooler.url(), desk.inbox.database().schema()};
  const auto left = [&] { return pooled.number("select count(*) from pg_prepared_statements"); };
  desk.begin(0, 1);  // a statement fails
  REQUIRE(!desk.execute("select * from note")->error);
  CHECK(desk.execute("select 1 / $1::int", {number_value(0)})->error);
  desk.transaction->end_call();
  desk.transaction->roll_back();
  CHECK(left() == 0);
  desk.begin(0, 1);  // the lease is lost
  REQUIRE(!desk.with_events(insert_all)->error);
  desk.transaction->end_call();
  desk.inbox.database().run("update inbox.delivery set fence = fence + 1");
  CHECK(desk.commit_all().kind == Kind::lost);
  CHECK(left() == 0);
}
