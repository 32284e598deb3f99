// Foreign functions and operators in a schema of the search path.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <optional>

#include "process/support/application.hpp"
#include "process/support/daemon_fixture.hpp"
#include "support/pgbouncer.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// Functions and operators in schema public that PostgreSQL prefers over its own, because these take other types (an
/// integer for a float8) or any type (an array, a range). Each reports its call, even if that is rolled back.
constexpr const char* decoys = R"sql(
set client_min_messages = warning;
set search_path = pg_catalog;
create sequence public.captured;
do $$
declare
  types text[] := '{int4,int8,numeric,float8,text,name,uuid,bytea,jsonb,timestamptz,interval,int8range,int8multirange,
                    "int4[]","int8[]","text[]","uuid[]","bytea[]"}';
  one text[] := '{unnest,cardinality,lower,upper,isempty,array_agg,range_agg,jsonb_agg,to_jsonb,jsonb_build_object,
                  length,octet_length,quote_ident,to_timestamp,ceil,sum,min,max,format,age,isfinite}';
  two text[] := '{power,format,convert_from,int8range,jsonb_object,to_char,string_agg,substr,has_table_privilege}';
  operators text[] := '{=,<>,<,>,<=,>=,+,-,*,/,%,||,@>,&&,->,->>,?,~,~~,<<,|}';
  body text := ' returns bool language plpgsql as $f$ begin perform pg_catalog.nextval(''public.captured''); '
               'raise exception ''captured''; end $f$';
  f text; a text; b text;
begin
  for f, a in select x, y from unnest(one) x, unnest(types) y loop
    if to_regprocedure(format('pg_catalog.%I(%s)', f, a)) is null then
      execute format('create function public.%I(%s)', f, a) || body;
    end if;
  end loop;
  for a, b in select y, z from unnest(types) y, unnest(types) z loop
    foreach f in array two loop
      if to_regprocedure(format('pg_catalog.%I(%s,%s)', f, a, b)) is null then
        execute format('create function public.%I(%s,%s)', f, a, b) || body;
      end if;
    end loop;
    execute format('create function public.decoy(%s,%s)', a, b) || body;
    foreach f in array operators loop
      if to_regoperator(format('pg_catalog.%s(%s,%s)', f, a, b)) is null then
        execute format('create operator public.%s (leftarg = %s, rightarg = %s, procedure = public.decoy)', f, a, b);
      end if;
    end loop;
  end loop;
end $$)sql";

/// A database with decoys, dropped at the end.
class DecoyDatabase final {
 public:
  DecoyDatabase() {
    admin_.run("create database " + name_);
    Session{url(), "inbox"}.run(decoys);
  }
  ~DecoyDatabase() { admin_.run("drop database " + name_ + " with (force)"); }
  DecoyDatabase(const DecoyDatabase&) = delete;
  DecoyDatabase& operator=(const DecoyDatabase&) = delete;

  std::string url() const {
    const std::string all = needed("INBOXD_TEST_PG");
    return all.substr(0, all.rfind('/') + 1) + name_;
  }
  /// For the test's own queries, which would be captured, too.
  std::string own_url() const { return url() + "?options=-csearch_path%3Dpg_catalog"; }
  bool has_captured() {
    return Session{own_url(), "inbox"}.text("select is_called from public.captured") == "t";
  }

 private:
  Session admin_{needed("INBOXD_TEST_PG"), "inbox"};
  const std::string name_ = random_name("decoy");
};

}  // namespace

// fault: a function or operator of the same name in a schema of the path
TEST_CASE("a function or operator of the same name in the search path is never called") {
  const std::string way = GENERATE("directly", "through PgBouncer", "by a plan that psql applies");
  CAPTURE(way);
  DecoyDatabase decoy;
  DaemonFixture fixture{1, decoy.own_url()};
  const auto run_command = [&](const std::vector<std::string>& arguments) {
    const auto answer = command(fixture.config, arguments);
    INFO(arguments[0] << ' ' << answer.out << answer.err);
    CHECK(answer.status == ExitStatus{0, 0});
  };
  std::optional<PgBouncer> pooler;
  fixture.config.url = decoy.url();
  if (way == "through PgBouncer") {
    pooler.emplace(decoy.url());
    fixture.config.url = pooler->url();
    fixture.config.sections["database"] = "prepare: false";
  }
  if (way == "by a plan that psql applies") {
    const TempFolder folder;
    write_file(folder / "plan.sql", command(fixture.config, {"migrate", "--plan"}).out);
    const auto applied = run_to_end({{"psql", decoy.url(), "-v", "ON_ERROR_STOP=1", "-Xqf", folder / "plan.sql"}});
    INFO(applied.err);
    REQUIRE(applied.status == ExitStatus{0, 0});
  }
  Application app{fixture.database};
  app.create_table();
  fixture.config.handlers[0].more = {"retry: {max_attempts: 2, base: 10ms}"};
  fixture.set("fail_type", "Bad");
  fixture.config.handlers.push_back(
      app.statement("book",
                    "insert into app.applied (event_id, n) select event_id, attempt from events "
                    "where body is not null or headers is not null or key is not null"));
  const auto daemon = fixture.start();
  const auto ids = fixture.produce(50);
  fixture.produce(1, "Bad");
  fixture.kafka.produce({{.topic = fixture.topic, .payload = "no id"}});
  fixture.database.wait_for("all are applied", app.named("select count(*) from app.applied"), 51);
  fixture.database.wait_for("one is dead", "select count(*) from inbox.dead_letter", 1);
  fixture.database.wait_for("one is in quarantine", "select count(*) from inbox.quarantine", 1);
  for (const char* const view : {"events", "deliveries", "failures", "backlog", "lag", "dead_letters", "quarantined"}) {
    fixture.database.run(std::string{"select * from inbox."} + view);
  }
  run_command({"status"});
  run_command({"events", "list"});
  run_command({"events", "show", ids[0]});
  run_command({"events", "trace", ids[0]});
  run_command({"dead", "list"});
  run_command({"dead", "replay", "--all", "--yes"});
  fixture.database.wait_for("it is dead again", "select count(*) from inbox.dead_letter", 1);
  run_command({"dead", "discard", "--all", "--yes"});
  run_command({"quarantine", "list"});
  run_command({"partitions", "list"});
  run_command({"handlers", "list"});
  run_command({"migrate", "--check"});
  run_command({"check"});
  CHECK(daemon->stop() == ExitStatus{0, 0});
  CHECK(daemon->count_in_log("captured") == 0);
  CHECK_FALSE(decoy.has_captured());
}
