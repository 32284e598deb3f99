#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "inbox/connection.hpp"
#include "inbox/migrations.hpp"
#include "inbox/upkeep.hpp"
#include "integration/support/inbox.hpp"
#include "integration/support/roles_fixture.hpp"
#include "support/pgbouncer.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

struct EmptySchema {
  explicit EmptySchema(const std::string& url = "") {
    settings.url = url.empty() ? database.url() : url;
    settings.schema = database.schema();
  }
  std::unique_ptr<inbox::Connection> connect() {
    return std::make_unique<inbox::Connection>(settings, "migrate", watchdog, log);
  }
  base::Result<inbox::MigrationState> migrate(inbox::Connection& connection, std::atomic<int>* applied = nullptr) {
    return inbox::migrate(connection, settings.schema, [&](const inbox::Migration&) {
      if (applied != nullptr) ++*applied;
    });
  }

  Database database;
  config::Database settings;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  inbox::Watchdog watchdog;
};

/// Number of steps from an empty schema, functions and views included.
int steps() { return static_cast<int>(inbox::known_migrations("x").size()); }

/// Names of the migrations that migrate applies.
std::vector<std::string> migrated(Inbox& inbox) {
  std::vector<std::string> names;
  const auto after = inbox::migrate(inbox.connection(), inbox.settings().schema,
                                    [&](const inbox::Migration& migration) { names.push_back(migration.name); });
  CHECK(after.ok());
  return names;
}

}  // namespace

TEST_CASE("a fresh database is migrated once; a second migrate does nothing") {
  EmptySchema empty;
  const auto connection = empty.connect();
  CHECK(inbox::migration_state(*connection, empty.settings.schema).applied == 0);
  std::atomic<int> applied{0};
  const auto first = empty.migrate(*connection, &applied);
  REQUIRE(first.ok());
  CHECK_FALSE(first.value().due());
  CHECK(applied == steps());
  CHECK(steps() == first.value().known + 1);
  REQUIRE(empty.migrate(*connection, &applied).ok());
  CHECK(applied == steps());
  CHECK(empty.database.number("select count(*) from inbox.migration") == first.value().known);
}

TEST_CASE("many simultaneous starts migrate once") {
  EmptySchema empty;
  std::atomic<int> applied{0};
  std::atomic<int> fine{0};
  std::vector<std::unique_ptr<inbox::Connection>> connections;
  for (int i = 0; i < 6; ++i) connections.push_back(empty.connect());
  std::vector<std::thread> starters;
  for (auto& connection : connections) {
    starters.emplace_back([&] {
      const auto state = empty.migrate(*connection, &applied);
      inbox::make_partitions(*connection, 2);
      if (state.ok() && !state.value().due()) ++fine;
    });
  }
  for (auto& starter : starters) starter.join();
  CHECK(fine == 6);
  CHECK(applied == steps());
}

// fault: two versions side by side during a rolling upgrade
TEST_CASE("a database newer than the program is refused and left alone") {
  Inbox inbox;
  const int known = inbox::migration_state(inbox.connection(), inbox.settings().schema).known;
  inbox.database().run("insert into inbox.migration (version, name, digest) values ($1, 'future', '')",
                       {std::to_string(known + 1)});
  CHECK(inbox::migration_state(inbox.connection(), inbox.settings().schema).newer());
  const auto result = inbox::migrate(inbox.connection(), inbox.settings().schema, [](const inbox::Migration&) {});
  REQUIRE_FALSE(result.ok());
  CHECK(result.problem().message.find(std::to_string(known + 1)) != std::string::npos);
}

TEST_CASE("functions and views are applied as a whole when their text has changed, and keep their grants") {
  Inbox inbox;
  RolesFixture roles{inbox};
  const auto grants = [&] {
    return inbox.database().text(
        "select string_agg(proname || ' ' || coalesce(proacl::text, ''), ', ' order by oid) from pg_proc "
        "where pronamespace = $1::regnamespace",
        {inbox.settings().schema});
  };
  const std::string before = grants();
  CHECK(migrated(inbox).empty());
  inbox.database().run(
      "create or replace function inbox.matches(name text, patterns text[]) returns boolean "
      "language sql immutable parallel safe return false");
  inbox.database().run("update inbox.repeatable_migration set digest = 'another'");
  const auto state = inbox::migration_state(inbox.connection(), inbox.settings().schema);
  CHECK(state.due());
  CHECK(state.applied == state.known);
  CHECK(migrated(inbox) == std::vector<std::string>{"functions_and_views"});
  CHECK(inbox.database().text("select inbox.matches('order.placed', '{order.*}')") == "t");
  CHECK(grants() == before);
  CHECK_FALSE(inbox::migration_state(inbox.connection(), inbox.settings().schema).due());
  CHECK(migrated(inbox).empty());
}

TEST_CASE("functions and views that a newer release or build applied are left alone and named as another text") {
  const std::string release = GENERATE("10.0.0", INBOXD_VERSION ".1000000");
  CAPTURE(release);
  Inbox inbox;
  inbox.database().run("update inbox.repeatable_migration set digest = 'another', release = $1", {release});
  const auto state = inbox::migration_state(inbox.connection(), inbox.settings().schema);
  CHECK_FALSE(state.due());
  CHECK_FALSE(state.newer());
  CHECK(migrated(inbox).empty());
  CHECK(inbox::changed_migrations(inbox.connection(), inbox.settings().schema) ==
        std::vector<std::string>{"functions_and_views"});
  CHECK(inbox.database().text("select digest from inbox.repeatable_migration") == "another");
}

TEST_CASE("functions and views of an earlier build are due, and recorded with the number of this build") {
  Inbox inbox;
  const auto release = [&] { return inbox.database().text("select release from inbox.repeatable_migration"); };
  CHECK(release().starts_with(INBOXD_VERSION "."));
  inbox.database().run("update inbox.repeatable_migration set digest = 'another', release = $1",
                       {INBOXD_VERSION});  // as builds without a number recorded it
  CHECK(migrated(inbox) == std::vector<std::string>{"functions_and_views"});
  CHECK(release() != INBOXD_VERSION);
}

TEST_CASE("a plan applied out of order, or after a newer release, is refused") {
  Inbox inbox;
  const auto refused = [&](const inbox::Migration& migration, const std::string& why) {
    Session psql{inbox.database().url(), inbox.database().schema()};
    CHECK_THROWS_WITH(psql.run(inbox::plan_of(inbox.connection(), inbox.settings().schema, migration)),
                      Catch::Matchers::ContainsSubstring(why));
  };
  refused({3, "0003_future", "select 1;\n"}, "migration 3 is not the next one");
  inbox.database().run("update inbox.repeatable_migration set release = '10.0.0'");
  refused(inbox::known_migrations(inbox.settings().schema).back(), "functions and views of a newer release");
  inbox.database().run("update inbox.migration set version = 7");
  refused(inbox::known_migrations(inbox.settings().schema).back(), "functions and views need migration 1");
  CHECK(inbox.database().number("select max(version) from inbox.migration") == 7);
}

TEST_CASE("everything stays inside the configured schema") {
  Inbox inbox;
  CHECK(inbox.settings().schema != "inbox");
  for (const auto& migration : inbox::known_migrations("other")) {
    CHECK(migration.sql.find(" inbox.") == std::string::npos);
    CHECK(migration.sql.find("'inbox.") == std::string::npos);
  }
  CHECK(inbox.database().number("select count(*) from pg_proc p join pg_namespace n on n.oid = p.pronamespace "
                                "where n.nspname = $1 and prosrc ~ '\\minbox\\.'",
                                {inbox.settings().schema}) == 0);
}

// fault: PgBouncer in transaction mode
TEST_CASE("through PgBouncer in transaction mode without prepared statements everything works") {
  PgBouncer pooler{needed("INBOXD_TEST_PG")};
  EmptySchema empty{pooler.url()};
  empty.settings.prepare = false;
  std::atomic<int> applied{0};
  std::vector<std::unique_ptr<inbox::Connection>> connections;
  for (int i = 0; i < 3; ++i) connections.push_back(empty.connect());
  std::vector<std::thread> starters;
  for (auto& connection : connections) starters.emplace_back([&] { (void)empty.migrate(*connection, &applied); });
  for (auto& starter : starters) starter.join();
  CHECK(applied == steps());

  auto& one = *connections[0];
  inbox::make_partitions(one, 1);
  config::Handler handler;
  handler.name = "receipt";
  handler.mode = config::Mode::single;
  inbox::register_handlers(one, {handler});
  inbox::write_first_positions(one, {{"orders", "", 0, 0}});
  const auto routing = inbox::read_routing(one);
  const auto shard = inbox::find_position(one, "orders", 0)->shard_id;
  for (int i = 0; i < 10; ++i) {
    inbox::IngestBatch batch;
    batch.owner = base::random_uuid();
    batch.fence = 1;
    batch.routing_version = routing.version;
    batch.steps = {{shard, 0, i, i + 1, 0}};
    event::Event event;
    event.shard_id = shard;
    event.offset = i;
    event.event_id = base::random_uuid();
    event.event_type = "Happened";
    batch.events = {event};
    batch.runs = {{routing.handlers[0].handler_id, shard, event::OffsetSet{{i, i + 1}}, milliseconds{0}}};
    CHECK(inbox::ingest(*connections[static_cast<std::size_t>(i % 3)], batch).stored == 1);
  }
  const auto owner = base::random_uuid();
  const auto claimed = claim_due(*connections[1], routing.handlers[0].handler_id, owner);
  CHECK(claimed.runs.size() == 10);
  for (const auto& run : claimed.runs) CHECK(inbox::settle(*connections[2], owner, {all_done(run)}).empty());
  CHECK(empty.database.number("select sum(inbox.count_of(offsets)) from inbox.outcome") == 10);
}
