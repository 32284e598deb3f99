// What `inboxd check` and a start say of a statement that cannot work, before any event meets it.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "process/support/application.hpp"
#include "process/support/stage.hpp"
#include "support/environment.hpp"
#include "support/private_postgres.hpp"

using namespace inboxd;
using namespace inboxd::support;
using Catch::Matchers::ContainsSubstring;

namespace {

struct Checked {
  Checked() {
    app.create_book();
    stage.migrate();
  }
  Finished check(const HandlerText& handler) {
    stage.config.handlers = {handler};
    return command(stage.config, {"check"});
  }

  Stage stage{1};
  Application app{stage.database};
};

}  // namespace

TEST_CASE("check reads the statement with the database: what is wrong, and where in it") {
  Checked checked;
  const auto refused = [&](std::string_view sql) {
    const auto finished = checked.check(checked.app.statement("set", sql));
    INFO(sql);
    CHECK(finished.status == ExitStatus{1, 0});
    return finished.out + finished.err;
  };
  CHECK_THAT(refused("insert into app.booked selct event_id from events"), ContainsSubstring("SQLSTATE 42601"));
  CHECK_THAT(refused("insert into app.missing select event_id from events"), ContainsSubstring("SQLSTATE 42P01"));
  const std::string column = refused("insert into app.booked (event_id) select evnt_id from events");
  CHECK_THAT(column, ContainsSubstring("\"evnt_id\" does not exist"));
  CHECK_THAT(column, ContainsSubstring("line 1, column " + std::to_string(checked.app.schema().size() + 39)));
  CHECK_THAT(refused("with mine as (select event_id, nonsense from events) insert into app.booked (event_id) select "
                     "event_id from mine"),
             ContainsSubstring("line 1, column 32 at 'nonsense"));
  CHECK_THAT(refused("insert into app.booked select event_id, 1 from events; drop table app.booked"),
             ContainsSubstring("setting 'statement'"));
  CHECK_THAT(refused("insert into app.booked values (gen_random_uuid(), 1)"), ContainsSubstring("'events'"));
  CHECK(checked.check(checked.app.statement("set", books_each)).status == ExitStatus{0, 0});
  CHECK(checked
            .check(checked.app.statement("set",
                                         "with recursive mine as (select event_id from events) insert into "
                                         "app.booked (event_id) select event_id from mine -- the end"))
            .status == ExitStatus{0, 0});
}

TEST_CASE("check says what a function has to be, and which settings there are") {
  Checked checked;
  const auto missing = checked.check(checked.app.function("orders", "app.on_order"));
  CHECK(missing.status == ExitStatus{1, 0});
  CHECK_THAT(missing.out, ContainsSubstring("(event inbox.message) returns void"));
  checked.app.run(
      "create function app.on_order(m inbox.message) returns void language sql as "
      "$$ insert into app.booked values (m.event_id, 1) $$");
  CHECK(checked.check(checked.app.function("orders", "app.on_order")).status == ExitStatus{0, 0});
  HandlerText both = checked.app.function("orders", "app.on_order");
  both.settings["statement"] = "select 1 from events";
  CHECK_THAT(checked.check(both).out, ContainsSubstring("exclude each other"));
}

TEST_CASE("the example without code is right") {
  PrivatePostgres server;  // it makes a schema of its own name
  Stage stage{1, server.url()};
  std::string text = read_file(INBOXD_EXAMPLES "/order_book/inboxd.yaml");
  const auto put = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
  };
  put("${ORDER_BOOK_DATABASE:-postgresql://app@localhost/app}", server.url());
  put("${ORDER_BOOK_BROKERS:-localhost:9092}", stage.config.brokers);
  put("- name: orders", "- name: " + stage.topic);
  CHECK(command_with_file(text, {"migrate"}).status == ExitStatus{0, 0});
  Session session{server.url(), "inbox"};
  session.run(read_file(INBOXD_EXAMPLES "/order_book/tables.sql"));
  const auto checked = command_with_file(text, {"check"});
  INFO(checked.out << checked.err);
  CHECK(checked.status == ExitStatus{0, 0});
}

TEST_CASE("a statement that cannot work keeps the daemon from starting") {
  Checked checked;
  checked.stage.config.handlers = {checked.app.statement("set", "insert into app.booked selct event_id from events")};
  Daemon daemon{checked.stage.config};
  CHECK(daemon.process().wait() == ExitStatus{78, 0});
  CHECK_THAT(daemon.log(), ContainsSubstring("SQLSTATE 42601"));
}

TEST_CASE("a start waits for an application's tables and functions, which may be made after it; then it says so") {
  Checked checked;
  checked.stage.config.handlers = {checked.app.statement("set", "insert into app.late select event_id from events"),
                                   checked.app.function("orders", "app.on_order")};
  Daemon daemon{checked.stage.config};
  daemon.wait_log("waiting for what a handler's statement names");
  wait_until("systemd is told, too",
             [&] { return daemon.notified().has_begun_with("STATUS=waiting for what a handler's statement names: "); });
  CHECK_THAT(daemon.log(), ContainsSubstring("SQLSTATE 42P01"));
  checked.app.run("create table app.late (event_id uuid)");
  daemon.wait_log("SQLSTATE 42883");
  checked.app.run(
      "create function app.on_order(m inbox.message) returns void language sql as "
      "$$ insert into app.late values (m.event_id) $$");
  daemon.wait_ready();
  daemon.kill();

  checked.app.run("drop table app.late cascade");
  checked.stage.config.sections["database"] = "deadline: 1s";
  Daemon again{checked.stage.config};
  CHECK(again.process().wait() == ExitStatus{75, 0});
  CHECK_THAT(again.log(), ContainsSubstring("cannot start") && ContainsSubstring("SQLSTATE 42P01"));
}

TEST_CASE("under a handler_role, check tests the rights of that role") {
  Checked checked;
  const std::string role = checked.app.schema() + "_role";
  checked.app.run("create role " + role);
  checked.stage.config.sections["database"] = "handler_role: " + role;
  const auto refused = checked.check(checked.app.statement("set", books_each));
  CHECK(refused.status == ExitStatus{1, 0});
  CHECK_THAT(refused.out, ContainsSubstring("SQLSTATE 42501"));
  checked.app.run("grant usage on schema " + checked.app.schema() + " to " + role + "; grant insert on app.booked to " +
                  role);
  CHECK(checked.check(checked.app.statement("set", books_each)).status == ExitStatus{0, 0});
  checked.app.run("drop owned by " + role + "; drop role " + role);
}
