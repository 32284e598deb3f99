#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "integration/support/roles_fixture.hpp"
#include "support/pgbouncer.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Types of the session under names that our functions use. Their check fails if it runs with other rights than the
/// session's.
constexpr const char* types_of_its_own = R"(
  create function pg_temp.evil() returns pg_catalog.bool language plpgsql as $$
  begin
    if current_user <> session_user then raise exception 'runs as %', current_user using errcode = 'XX001'; end if;
    return true;
  end $$;
  create domain pg_temp.text as pg_catalog.text check (pg_temp.evil());
  create domain pg_temp.bytea as pg_catalog.bytea check (pg_temp.evil());
  create domain pg_temp.jsonb as pg_catalog.jsonb check (pg_temp.evil());
  create domain pg_temp.uuid as pg_catalog.uuid check (pg_temp.evil());
  create domain pg_temp.date as pg_catalog.date check (pg_temp.evil());
  create domain pg_temp.timestamptz as pg_catalog.timestamptz check (pg_temp.evil());
  create domain pg_temp.int8multirange as pg_catalog.int8multirange check (pg_temp.evil()))";

/// A call of each function that runs with its owner's rights.
constexpr const char* calls_of_definers[] = {
    "select inbox.make_partitions(2)",
    "select inbox.drop_partition('event', '400 days', 'event_20200101')",
    "select * from inbox.call_events(array[1], array[0::bigint], array[9::bigint], '-infinity', 'infinity', array[1], "
    "array[0::bigint], array[0::bigint], array[0::bigint])",
};

}  // namespace

TEST_CASE("every function's names are independent of its caller's search path") {
  Inbox inbox;
  // PL/pgSQL is parsed under the function's own path, or has qualified names; SQL is parsed once, at creation.
  CHECK(inbox.database().text(
            "select coalesce(string_agg(p.proname, ' ' order by p.proname), '') from pg_proc p "
            "join pg_language l on l.oid = p.prolang where p.pronamespace = $1::regnamespace "
            "and not (l.lanname = 'sql' and p.prosqlbody is not null) "
            "and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)",
            {inbox.database().schema()}) == "body_of text_or_null unwrapped");
  for (const char* const name : {"body_of", "text_or_null", "unwrapped"}) {
    const auto body = inbox.database().text(
        "select prosrc from pg_proc where proname = $1 and pronamespace = $2::regnamespace",
        {name, inbox.database().schema()});
    CHECK(body.find(std::string{name} == "unwrapped" ? "pg_catalog.jsonb_typeof(" : "pg_catalog.convert_from(") !=
          std::string::npos);
  }
}

// fault: a reader role with TEMP and types of its own
TEST_CASE("every function with owner rights sets its search path, pg_temp last, and is listed here") {
  Inbox inbox;
  CHECK(inbox.database().text("select string_agg(proname || ' ' || (select s from unnest(proconfig) s "
                              "where s like 'search_path=%'), ', ' order by proname) from pg_proc "
                              "where prosecdef and pronamespace = $1::regnamespace",
                              {inbox.database().schema()}) ==
        "call_events search_path=pg_catalog, pg_temp, drop_generation search_path=pg_catalog, pg_temp, "
        "drop_partition search_path=pg_catalog, pg_temp, "
        "enqueue search_path=pg_catalog, pg_temp, enqueue_batch search_path=pg_catalog, pg_temp, "
        "freeze_generation search_path=pg_catalog, pg_temp, make_partitions search_path=pg_catalog, pg_temp, "
        "publish search_path=pg_catalog, pg_temp");
  CHECK(std::size(calls_of_definers) == 3);
}

// fault: a reader role with TEMP and types of its own
TEST_CASE("a login with its own types runs no code as the owner") {
  Inbox inbox;
  RolesFixture roles{inbox};
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1).store(inbox.connection());
  inbox.database().run("update inbox.event set headers = '\\x00000001610000000162', key = 'k'");
  const std::string role = GENERATE("reader", "worker");
  CAPTURE(role);
  Session session{roles.settings_of({role}).url, inbox.database().schema()};
  session.run(types_of_its_own);
  CHECK(session.text("select inbox.headers_of('\\x00000001610000000162')") == "{\"a\": \"b\"}");
  CHECK(session.text("select headers::pg_catalog.text from inbox.events") == "{\"a\": \"b\"}");
  for (const char* const view :
       {"events", "deliveries", "failures", "backlog", "lag", "dead_letters", "quarantined"}) {
    session.run(std::string{"select * from inbox."} + view);
  }
  for (const char* const call : calls_of_definers) {
    const bool may = role == "worker" || std::string_view{call}.find("call_events") != std::string_view::npos;
    CAPTURE(call);
    if (may) {
      CHECK_NOTHROW(session.run(call));
    } else {
      CHECK_THROWS(session.run(call));
    }
  }
}

TEST_CASE("the daemon's sessions have its own search path, whatever login or URL set") {
  Inbox inbox;
  const std::string before = inbox.settings().url;
  auto settings = inbox.settings();
  settings.url = before + "?options=-csearch_path%3Dpublic";
  const auto connection = inbox.connect(settings);
  connection->open();
  inbox.database().run(
      "create table inbox.seen (path text); create function inbox.see() returns trigger language plpgsql as "
      "$$ begin insert into inbox.seen values (pg_catalog.current_setting('search_path')); return new; end $$; "
      "create trigger see after update on inbox.routing for each row execute function inbox.see()");
  inbox::register_handlers(*connection, {handler_named("receipt")});
  CHECK(inbox.database().text("select string_agg(distinct path, ';') from inbox.seen") == "pg_catalog,pg_temp");
}

TEST_CASE("with a pooler that refuses options each statement and transaction sets the path") {
  Inbox inbox;
  const PgBouncer pooler{inbox.settings().url};
  auto settings = inbox.settings();
  settings.url = pooler.url();
  settings.prepare = false;
  const auto connection = inbox.connect(settings);
  inbox.database().run(
      "create table inbox.seen (path text); create function inbox.see() returns trigger language plpgsql as "
      "$$ begin insert into inbox.seen values (pg_catalog.current_setting('search_path')); return new; end $$; "
      "create trigger see after insert or update on inbox.routing for each row execute function inbox.see(); "
      "create trigger see after insert or update on inbox.instance for each row execute function inbox.see(); "
      "create trigger see after insert on inbox.position for each row execute function inbox.see()");
  inbox::register_handlers(*connection, {handler_named("receipt")});
  inbox::instance_heartbeat(*connection, {inbox.owner, "host", 1}, false);
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1).store(*connection);
  CHECK(inbox.database().number("select count(*) from inbox.seen") >= 4);
  CHECK(inbox.database().text("select string_agg(distinct replace(path, ' ', ''), ';') from inbox.seen") ==
        "pg_catalog,pg_temp");
  // The pool's sessions are unchanged.
  Session pooled{pooler.url(), inbox.database().schema()};
  CHECK(pooled.text("show search_path") == "\"$user\", public");
}
