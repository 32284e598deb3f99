// Migrations: by several at once, behind a pooler, into a schema of any name, and never backwards.
#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "inbox/connection.hpp"
#include "inbox/migrations.hpp"
#include "inbox/upkeep.hpp"
#include "integration/support/inbox.hpp"
#include "support/pgbouncer.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

/// A schema that nothing has been made in yet.
struct Empty {
  explicit Empty(const std::string& url = "") {
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

}  // namespace

TEST_CASE("a fresh database is migrated once, and again is nothing") {
  Empty empty;
  const auto connection = empty.connect();
  CHECK(inbox::migration_state(*connection, empty.settings.schema).applied == 0);
  std::atomic<int> applied{0};
  const auto first = empty.migrate(*connection, &applied);
  REQUIRE(first.ok());
  CHECK_FALSE(first.value().due());
  CHECK(applied == first.value().known);
  REQUIRE(empty.migrate(*connection, &applied).ok());
  CHECK(applied == first.value().known);
  CHECK(empty.database.number("select count(*) from inbox.migration") == first.value().known);
}

TEST_CASE("many that start at once migrate once") {
  Empty empty;
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
  CHECK(applied == static_cast<int>(inbox::known_migrations("x").size()));
}

TEST_CASE("a database that is newer than the program is refused and left alone") {
  Inbox inbox;
  const int known = inbox::migration_state(inbox.connection(), inbox.settings().schema).known;
  inbox.database().run("insert into inbox.migration (version, name, digest) values ($1, 'future', '')",
                       {std::to_string(known + 1)});
  CHECK(inbox::migration_state(inbox.connection(), inbox.settings().schema).newer());
  const auto result = inbox::migrate(inbox.connection(), inbox.settings().schema, [](const inbox::Migration&) {});
  REQUIRE_FALSE(result.ok());
  CHECK(result.problem().message.find(std::to_string(known + 1)) != std::string::npos);
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

TEST_CASE("through PgBouncer in transaction mode without prepared statements everything works") {
  PgBouncer pooler{needed("INBOXD_TEST_PG")};
  Empty empty{pooler.url()};
  empty.settings.prepare = false;
  std::atomic<int> applied{0};
  std::vector<std::unique_ptr<inbox::Connection>> connections;
  for (int i = 0; i < 3; ++i) connections.push_back(empty.connect());
  std::vector<std::thread> starters;
  for (auto& connection : connections) starters.emplace_back([&] { (void)empty.migrate(*connection, &applied); });
  for (auto& starter : starters) starter.join();
  CHECK(applied == static_cast<int>(inbox::known_migrations("x").size()));

  auto& one = *connections[0];
  inbox::make_partitions(one, 1);
  config::Handler handler;
  handler.name = "receipt";
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
