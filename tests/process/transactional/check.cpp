#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/private_postgres.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

struct StatementFixture {
  StatementFixture() {
    app.create_table();
    fixture.migrate();
  }
  Finished check(const HandlerText& handler) {
    fixture.config.handlers = {handler};
    return command(fixture.config, {"check"});
  }

  DaemonFixture fixture{1};
  Application app{fixture.database};
};

}  // namespace

TEST_CASE("check validates the statement in the database and shows the mistake and its place") {
  StatementFixture test;
  const auto refused = [&](std::string_view sql) {
    const auto finished = test.check(test.app.statement("set", sql));
    INFO(sql);
    CHECK(finished.status == ExitStatus{1, 0});
    return finished.out + finished.err;
  };
  CHECK_THAT(refused("insert into app.applied selct event_id from events"), ContainsSubstring("SQLSTATE 42601"));
  CHECK_THAT(refused("insert into app.missing select event_id from events"), ContainsSubstring("SQLSTATE 42P01"));
  const std::string column = refused("insert into app.applied (event_id) select evnt_id from events");
  CHECK_THAT(column, ContainsSubstring("\"evnt_id\" does not exist"));
  CHECK_THAT(column, ContainsSubstring("line 1, column " + std::to_string(test.app.schema().size() + 40)));
  CHECK_THAT(refused("with mine as (select event_id, nonsense from events) insert into app.applied (event_id) select "
                     "event_id from mine"),
             ContainsSubstring("line 1, column 32 at 'nonsense"));
  CHECK_THAT(refused("insert into app.applied select event_id, 1 from events; drop table app.applied"),
             ContainsSubstring("there is a second statement in line 1, column ") &&
                 ContainsSubstring("'function: schema.name'"));
  CHECK_THAT(refused("insert into app.applied (event_id, n) select event_id, (payload->>'n')::int from events"),
             ContainsSubstring("SQLSTATE 42883") && ContainsSubstring("payload is bytea; use body->>'n'"));
  CHECK_THAT(refused("insert into app.applied values (gen_random_uuid(), 1)"), ContainsSubstring("'events'"));
  CHECK(test.check(test.app.statement("set", insert_each)).status == ExitStatus{0, 0});
  CHECK(test.check(test.app.statement("set",
                                      "with recursive mine as (select event_id from events) insert into "
                                      "app.applied (event_id) select event_id from mine -- the end"))
            .status == ExitStatus{0, 0});
}

TEST_CASE("check finds mistakes in statements before the first migration, and leaves nothing in the database") {
  DaemonFixture fixture{1};
  Application app{fixture.database};
  app.create_table();
  const auto check = [&](std::string_view sql) {
    fixture.config.handlers = {app.statement("set", sql)};
    return command(fixture.config, {"check"});
  };
  const auto wrong = check("insert into app.applied (event_id) select evnt_id from events");
  INFO(wrong.out);
  CHECK(wrong.status == ExitStatus{1, 0});
  CHECK_THAT(wrong.out, ContainsSubstring("\"evnt_id\" does not exist") && ContainsSubstring("inboxd migrate"));
  const auto right = check(insert_each);
  CHECK(right.status == ExitStatus{1, 0});
  CHECK_THAT(right.out, ContainsSubstring("inboxd migrate") && !ContainsSubstring("does not exist") &&
                            !ContainsSubstring("not checked"));
  CHECK(fixture.database.number("select count(*) from pg_class where relnamespace = to_regnamespace('inbox')") == 0);
  fixture.migrate();
  CHECK(check(insert_each).status == ExitStatus{0, 0});
}

TEST_CASE("check and start name every handler's mistake with its line and column in the file") {
  StatementFixture test;
  HandlerText block = test.app.statement("block", "");
  block.settings["statement"] =
      test.app.named("|\n        insert into app.applied (event_id, n)\n        select event_id, ordr from events");
  HandlerText line = test.app.statement("line", "insert into app.applied (event_id) select evnt_id from events");
  HandlerText other = test.app.statement("other", "insert into app.applied select event_id, 1 from events");
  other.settings["permanent"] = "[integrity]";
  test.fixture.config.handlers = {block, line, other};
  const std::string text = test.fixture.config.text();
  const auto place_of = [&](const std::string& what) {
    const auto at = text.find(what);
    REQUIRE(at != std::string::npos);
    const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return "inboxd.yaml:" + std::to_string(lines + 1) + ":" + std::to_string(at - text.rfind('\n', at)) + ": ";
  };
  const auto finished = command(test.fixture.config, {"check"});
  CHECK(finished.status == ExitStatus{1, 0});
  CHECK_THAT(finished.out, ContainsSubstring(place_of("ordr from") + "plugin sql: setting 'statement', line 2, "));
  CHECK_THAT(finished.out, ContainsSubstring(place_of("evnt_id") + "plugin sql: setting 'statement', line 1, "));
  CHECK_THAT(finished.out, ContainsSubstring("handler other: ") && ContainsSubstring("setting 'permanent'"));
  DaemonProcess daemon{test.fixture.config};
  daemon.wait_log(place_of("ordr from"));  // a start waits for a missing column
}

TEST_CASE("check describes the required function and the available settings") {
  StatementFixture test;
  const auto missing = test.check(test.app.function("orders", "app.on_order"));
  CHECK(missing.status == ExitStatus{1, 0});
  CHECK_THAT(missing.out, ContainsSubstring("(event inbox.message) returns void"));
  test.app.run(
      "create function app.on_order(m inbox.message) returns void language sql as "
      "$$ insert into app.applied values (m.event_id, 1) $$");
  CHECK(test.check(test.app.function("orders", "app.on_order")).status == ExitStatus{0, 0});
  HandlerText both = test.app.function("orders", "app.on_order");
  both.settings["statement"] = "select 1 from events";
  CHECK_THAT(test.check(both).out, ContainsSubstring("exclude each other"));
  HandlerText body = test.app.function("orders", "app.on_order");
  body.settings["body"] = "maybe";
  CHECK_THAT(test.check(body).out, ContainsSubstring("setting 'body' is 'maybe'; it must be required or optional"));
}

TEST_CASE("the example without code passes the check") {
  PrivatePostgres server;  // it creates its own schema
  DaemonFixture fixture{1, server.url()};
  std::string text = read_file(INBOXD_EXAMPLES "/order_book/inboxd.yaml");
  const auto put = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  put("${ORDER_BOOK_DATABASE:-postgresql://app@localhost/app}", server.url());
  put("${ORDER_BOOK_BROKERS:-localhost:9092}", fixture.config.brokers);
  put("- name: orders", "- name: " + fixture.topic);
  CHECK(command_with_file(text, {"migrate"}).status == ExitStatus{0, 0});
  Session session{server.url(), "inbox"};
  session.run(read_file(INBOXD_EXAMPLES "/order_book/tables.sql"));
  const auto test = command_with_file(text, {"check"});
  INFO(test.out << test.err);
  CHECK(test.status == ExitStatus{0, 0});
}

TEST_CASE("a statement that cannot work prevents the start") {
  StatementFixture test;
  test.fixture.config.handlers = {test.app.statement("set", "insert into app.applied selct event_id from events")};
  DaemonProcess daemon{test.fixture.config};
  CHECK(daemon.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(daemon.log(), ContainsSubstring("SQLSTATE 42601"));
}

TEST_CASE("a start waits for an application's tables and functions, which may be created later, and says so") {
  StatementFixture test;
  test.fixture.config.handlers = {test.app.statement("set", "insert into app.late select event_id from events"),
                                  test.app.function("orders", "app.on_order")};
  DaemonProcess daemon{test.fixture.config};
  daemon.wait_log("kind=daemon.waiting_for_statement");
  wait_until("systemd is notified, too", [&] {
    return daemon.notified().has_line_starting_with("STATUS=waiting for names in a handler's statement: ");
  });
  CHECK_THAT(daemon.log(), ContainsSubstring("SQLSTATE 42P01"));
  test.app.run("create table app.late (event_id uuid)");
  daemon.wait_log("SQLSTATE 42883");
  test.app.run(
      "create function app.on_order(m inbox.message) returns void language sql as "
      "$$ insert into app.late values (m.event_id) $$");
  daemon.wait_ready();
  daemon.kill();

  test.app.run("drop table app.late cascade");
  test.fixture.config.sections["database"] = "deadline: 1s";
  DaemonProcess again{test.fixture.config};
  CHECK(again.process().wait() == ExitStatus{75, 0});
  CHECK_THAT(again.log(), ContainsSubstring("kind=daemon.start_failed") && ContainsSubstring("SQLSTATE 42P01"));
}

TEST_CASE("with a handler_role, check tests the rights of that role") {
  StatementFixture test;
  const std::string role = test.app.schema() + "_role";
  test.app.run("create role " + role);
  test.fixture.config.sections["database"] = "handler_role: " + role;
  const auto refused = test.check(test.app.statement("set", insert_each));
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.out, ContainsSubstring("SQLSTATE 42501"));
  test.app.run("grant usage on schema " + test.app.schema() + " to " + role + "; grant insert on app.applied to " +
               role);
  CHECK(test.check(test.app.statement("set", insert_each)).status == ExitStatus{0, 0});
  test.app.run("drop owned by " + role + "; drop role " + role);
}
