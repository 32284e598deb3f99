#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "integration/support/roles_fixture.hpp"
#include "integration/transaction/handler_transaction_fixture.hpp"
#include "support/pgbouncer.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Kind = transaction::CommitEnd::Kind;

namespace {

/// A role without rights on the inbox, dropped at the end.
class HandlerRole final {
 public:
  explicit HandlerRole(HandlerTransactionFixture& fixture) : fixture_{fixture}, name{fixture.app + "_role"} {
    fixture_.inbox.database().run("create role " + name);
    fixture_.inbox.database().run("grant usage on schema " + fixture_.app + " to " + name);
    fixture_.inbox.database().run("grant insert, select on " + fixture_.app + ".note to " + name);
    fixture_.settings.handler_role = name;
    fixture_.transaction = fixture_.inbox.transaction(fixture_.settings);
  }
  ~HandlerRole() {
    fixture_.transaction.reset();
    fixture_.inbox.database().run("drop owned by " + name);
    fixture_.inbox.database().run("drop role " + name);
  }
  HandlerRole(const HandlerRole&) = delete;
  HandlerRole& operator=(const HandlerRole&) = delete;

 private:
  HandlerTransactionFixture& fixture_;

 public:
  const std::string name;
};

}  // namespace

TEST_CASE("a handler's role has no right on the inbox and still sees its events") {
  const bool prepare = GENERATE(true, false);
  CAPTURE(prepare);
  HandlerTransactionFixture fixture{10, "{\"order\": 7}",
                                    [&](config::Database& settings) { settings.prepare = prepare; }};
  const HandlerRole role{fixture};
  fixture.begin(0, 5, false);
  REQUIRE(!fixture.with_events(insert_all)->error);
  for (const bool sent : {true, false}) {
    fixture.has_content = sent;
    fixture.begin(0, 5, false);
    const auto all = fixture.with_events("select key, headers, source_id, body, e::text from events e");
    CHECK(!all->error);
    CHECK(all->rows == 5);
  }
  const auto who = fixture.execute("select current_user::text");
  CHECK(who->value(0, 0).bytes == role.name);
  const auto point = fixture.transaction->savepoint();
  const auto denied = fixture.execute("select count(*) from " + fixture.inbox.database().schema() + ".event");
  REQUIRE(denied->error);
  CHECK(denied->error->sqlstate == "42501");
  fixture.transaction->rollback_to(point);
  CHECK(!fixture.transaction->end_call().violation);
  fixture.begin(5, 10, false);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes() == 10);
  CHECK(fixture.done_events() == 10);
}

TEST_CASE("a daemon with only the rights of sql/roles.sql runs handlers under a role without any") {
  HandlerTransactionFixture fixture{40, "{\"order\": 7}"};
  const HandlerRole role{fixture};
  {
    RolesFixture roles{fixture.inbox};
    fixture.inbox.database().run("grant " + role.name + " to " + roles.name("login"));
    auto settings = roles.settings_of({"ingest", "worker"});
    settings.handler_role = role.name;
    settings.handler_search_path = fixture.app;
    CHECK(!fixture.inbox.describer(settings)->describe({insert_all, {}, true, 0, 0})->error);
    fixture.transaction = fixture.inbox.transaction(settings);
    fixture.begin(0, 5, false);  // events are sent
    CHECK(!fixture.with_events("select key, headers, source_id, body, e::text from events e")->error);
    fixture.begin(0, 40, false);  // events are read in place
    CHECK(!fixture.with_events("select key, headers, source_id, body, e::text from events e")->error);
    REQUIRE(!fixture.with_events(insert_all)->error);
    CHECK(!fixture.transaction->end_call().violation);
    CHECK(fixture.commit_all().kind == Kind::committed);
    CHECK(fixture.notes() == 40);
    fixture.transaction.reset();
  }
}

TEST_CASE("a handler runs as the role that `alter role` has set for the daemon's login") {
  const std::string inherits = GENERATE("inherit", "noinherit");
  CAPTURE(inherits);
  HandlerTransactionFixture fixture{2};
  RolesFixture roles{fixture.inbox};
  auto settings = roles.settings_of({});
  auto& database = fixture.inbox.database();
  const std::string role = roles.name("owner"), login = roles.name("login");
  database.run("grant " + role + " to " + login + "; alter role " + login + " " + inherits + "; alter role " + login +
               " set role = '" + role + "'; grant " + roles.name("ingest") + ", " + roles.name("worker") + " to " +
               role + "; grant all on schema " + fixture.app + " to " + role + "; grant all on " + fixture.app +
               ".note to " + role + "; alter table " + fixture.app + ".note add who text default current_user");
  settings.handler_search_path = fixture.app;
  CHECK(!fixture.inbox.describer(settings)->describe({insert_all, {}, true, 0, 0})->error);
  fixture.transaction = fixture.inbox.transaction(settings);
  fixture.begin(0, 2, false);
  REQUIRE(!fixture.with_events(insert_all)->error);
  CHECK(!fixture.transaction->end_call().violation);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes("who = '" + role + "'") == 2);
  fixture.transaction.reset();
}

TEST_CASE("without a configured search path, a handler's statements use the login's") {
  HandlerTransactionFixture fixture{2};
  const std::string login = fixture.app + "_login";
  const bool by_url = GENERATE(true, false);
  CAPTURE(by_url);
  auto settings = fixture.settings;
  settings.handler_search_path.clear();
  if (by_url) {
    settings.url += "?options=-csearch_path%3D" + fixture.app;
  } else {
    fixture.inbox.database().run("create role " + login + " superuser login; alter role " + login +
                                 " set search_path = " + fixture.app);
    settings.url.replace(settings.url.find("postgres@"), 8, login);
  }
  fixture.transaction = fixture.inbox.transaction(settings);
  for (const std::size_t i : {0U, 1U}) {
    fixture.begin(i, i + 1);
    CHECK(fixture.execute("show search_path")->value(0, 0).bytes == fixture.app);
    CHECK(!fixture.with_events("insert into note (id) select event_id from events")->error);
    CHECK(!fixture.transaction->end_call().violation);
    auto settlement = fixture.done(i, i + 1);
    settlement.whole = i == 1;
    CHECK(fixture.commit(settlement).kind == Kind::committed);
  }
  CHECK(fixture.notes() == 2);
  fixture.transaction.reset();
  if (!by_url) fixture.inbox.database().run("drop role " + login);
}

TEST_CASE("a type that a handler leaves in its session does not replace the daemon's") {
  const bool prepare = GENERATE(true, false);
  CAPTURE(prepare);
  HandlerTransactionFixture fixture{3, "{\"order\": 7}",
                                    [&](config::Database& settings) { settings.prepare = prepare; }};
  const HandlerRole role{fixture};
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    fixture.begin(i, i + 1);
    if (i == 0) {
      REQUIRE(!fixture
                   .execute("create function pg_temp.evil() returns bool language plpgsql as $$ begin "
                            "if current_user <> '" +
                            role.name +
                            "' then raise 'runs as %', current_user; end if; "
                            "return true; end $$")
                   ->error);
      for (const std::string type : {"text", "timestamptz", "uuid"}) {
        REQUIRE(
            !fixture.execute("create domain pg_temp." + type + " as pg_catalog." + type + " check (pg_temp.evil())")
                 ->error);
      }
    }
    const std::string write = "insert into note (id) select event_id from events";
    auto written = fixture.with_events(write);
    if (written->error && written->error->will_repeat) {  // a plan made before the types
      fixture.transaction->end_call();
      fixture.transaction->roll_back();
      fixture.begin(i, i + 1);
      written = fixture.with_events(write);
    }
    if (written->error) UNSCOPED_INFO(written->error->message);
    REQUIRE(!written->error);
    CHECK(!fixture.transaction->end_call().violation);
    auto settlement = fixture.done(i, i + 1);
    settlement.whole = i == 2;
    REQUIRE(fixture.commit(settlement).kind == Kind::committed);
  }
  CHECK(fixture.notes() == 3);
}

TEST_CASE("deferred triggers run under the handler's role") {
  HandlerTransactionFixture fixture{1};
  const HandlerRole role{fixture};
  fixture.defer("insert into note (text) values (current_user);", "new.number = 1");
  fixture.begin(0, 1);
  REQUIRE(!fixture.execute("insert into note (number) values (1)")->error);
  fixture.transaction->end_call();
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes("text = '" + role.name + "'") == 1);
}

TEST_CASE("a role that a function set for the session does not affect the daemon's check of leases") {
  HandlerTransactionFixture fixture{6};
  const HandlerRole role{fixture};
  const std::string set_role = "select set_config('role', $1, false)";
  for (std::size_t i = 0; i < 5; ++i) {  // after some calls the session is trusted
    fixture.begin(i, i + 1);
    REQUIRE(!fixture.execute(set_role, {text_value(i < 4 ? "none" : role.name)})->error);
    auto settlement = fixture.done(i, i + 1);
    settlement.whole = false;
    REQUIRE(fixture.commit(settlement).kind == Kind::committed);
  }
  fixture.inbox.database().run("update inbox.delivery set fence = fence + 1");
  fixture.begin(5, 6);
  REQUIRE(!fixture.execute("insert into note (number) values (1)")->error);
  const auto end = fixture.commit(fixture.done(5, 6));
  CHECK(end.kind == Kind::lost);
  CHECK(end.lost == std::vector{fixture.run->key});
}

TEST_CASE("a missing right fails the handler's statement") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("create table " + fixture.app + ".secret (id uuid)");
  const HandlerRole role{fixture};
  const std::string insert = "insert into secret select event_id from events";
  fixture.begin(0, 1);
  const auto denied = fixture.with_events(insert);
  REQUIRE(denied->error);
  CHECK(denied->error->sqlstate == "42501");
  CHECK(!denied->error->will_repeat);
  fixture.transaction->roll_back();
}

TEST_CASE("a statement is planned again when its table changes under a role without rights") {
  HandlerTransactionFixture fixture{1};
  const HandlerRole role{fixture};
  fixture.begin(0, 1);
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->roll_back();
  fixture.inbox.database().run("alter table " + fixture.app + ".note add more int");
  bool worked = false;
  for (int tries = 0; tries < 2 && !worked; ++tries) {
    fixture.begin(0, 1);
    const auto result = fixture.with_events(insert_all);
    worked = !result->error;
    if (!worked) CHECK(result->error->will_repeat);
    fixture.transaction->end_call();
    if (!worked) fixture.transaction->roll_back();
  }
  CHECK(worked);
  CHECK(fixture.commit_all().kind == Kind::committed);
  CHECK(fixture.notes() == 1);
}

TEST_CASE("statements are checked without running: syntax, tables, columns and rights, with the position") {
  HandlerTransactionFixture fixture{1};
  fixture.inbox.database().run("create table " + fixture.app + ".secret (id uuid)");
  const HandlerRole role{fixture};
  const auto describer = fixture.inbox.describer(fixture.settings);
  const auto described = [&](const std::string& sql) { return describer->describe({sql, {}, true, 0, 0}); };
  const auto good = described("insert into note (id) select event_id from events returning id, text");
  REQUIRE(good);
  CHECK(!good->error);
  CHECK(good->columns.size() == 2);
  CHECK(fixture.notes() == 0);
  CHECK(described("insert into note (id) selec event_id from events")->error->sqlstate == "42601");
  CHECK(described("insert into note (id) selec event_id from events")->error->position == 23);
  CHECK(described("insert into nothing select event_id from events")->error->sqlstate == "42P01");
  CHECK(described("insert into nothing select event_id from events")->error->position == 13);
  CHECK(described("select evnt_id from events")->error->sqlstate == "42703");
  CHECK(described("insert into secret select event_id from events")->error->sqlstate == "42501");
  CHECK(described("commit")->error->sqlstate == "0A000");
}

// fault: PgBouncer in transaction mode
TEST_CASE("handlers work with a pooler in transaction mode with prepared statements off") {
  const PgBouncer pooler{needed("INBOXD_TEST_PG")};
  HandlerTransactionFixture fixture{20, "{\"order\": 7}", [&](config::Database& settings) {
                                      settings.url = pooler.url();
                                      settings.prepare = false;
                                    }};
  const HandlerRole role{fixture};
  for (std::size_t i = 0; i < 20; i += 2) {
    for (const std::size_t each : {i, i + 1}) {
      fixture.begin(each, each + 1, false);
      REQUIRE(!fixture.with_events(insert_all)->error);
      CHECK(!fixture.transaction->end_call().violation);
    }
    auto settlement = fixture.done(i, i + 2);
    settlement.whole = i == 18;
    CHECK(fixture.commit(settlement).kind == Kind::committed);
  }
  CHECK(fixture.notes() == 20);
  CHECK(fixture.done_events() == 20);
  Session pooled{pooler.url(), fixture.inbox.database().schema()};
  CHECK(pooled.number("select count(*) from pg_prepared_statements") == 0);
}

TEST_CASE("a pooled session keeps no prepared statements, even if a transaction fails") {
  const PgBouncer pooler{needed("INBOXD_TEST_PG")};
  HandlerTransactionFixture fixture{2, "{\"order\": 7}", [&](config::Database& settings) {
                                      settings.url = pooler.url();
                                      settings.prepare = false;
                                    }};
  Session pooled{pooler.url(), fixture.inbox.database().schema()};
  const auto left = [&] { return pooled.number("select count(*) from pg_prepared_statements"); };
  fixture.begin(0, 1);  // a statement fails
  REQUIRE(!fixture.execute("select * from note")->error);
  CHECK(fixture.execute("select 1 / $1::int", {number_value(0)})->error);
  fixture.transaction->end_call();
  fixture.transaction->roll_back();
  CHECK(left() == 0);
  fixture.begin(0, 1);  // the lease is lost
  REQUIRE(!fixture.with_events(insert_all)->error);
  fixture.transaction->end_call();
  fixture.inbox.database().run("update inbox.delivery set fence = fence + 1");
  CHECK(fixture.commit_all().kind == Kind::lost);
  CHECK(left() == 0);
}
