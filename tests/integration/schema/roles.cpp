#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "inbox/generations.hpp"
#include "inbox/local_events.hpp"
#include "inbox/resends.hpp"
#include "integration/support/roles_fixture.hpp"
#include "operations/backfill_queries.hpp"
#include "operations/dead_queries.hpp"
#include "operations/handler_queries.hpp"
#include "operations/partition_queries.hpp"
#include "operations/server_queries.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("the roles ingest and worker can each do their work, and together all of the daemon's") {
  using namespace std::chrono_literals;
  Inbox inbox;
  RolesFixture roles{inbox};
  roles.apply();  // applied again, as after each migration
  auto daemon = roles.connect({"ingest", "worker"});
  CHECK(operations::missing_rights(*daemon).empty());
  inbox::instance_heartbeat(*daemon, {inbox.owner, "host", 1}, false);
  CHECK(inbox::make_partitions(*daemon, 3) == 3);

  daemon = roles.connect({"ingest"});

  config::Handler handler;
  handler.name = "receipt";
  handler.mode = config::Mode::single;
  handler.topics = {"orders"};
  const auto id = inbox::register_handlers(*daemon, {handler}).at(0).handler_id;
  handler.topics = {"audit"};
  handler.name = "of-audit";
  inbox::register_handlers(*daemon, {handler});
  handler.types = {"Happened"};
  CHECK_FALSE(inbox::register_handlers(*daemon, {handler}).at(0).change.empty());
  inbox::write_first_positions(*daemon, {{"orders", "", 0, 0}, {"audit", "", 0, 0}}, "orders");
  const auto orders = inbox::find_position(*daemon, "orders", 0)->shard_id;
  const auto audit = inbox::find_position(*daemon, "audit", 0)->shard_id;

  const auto seen = base::random_uuid();
  Batch first{inbox};
  CHECK(first.at(orders, 0).event(seen).events(4).reject("no_id").deliver_to(id).store(*daemon).stored == 5);
  Batch second{inbox};  // a known id on another topic, and again with another payload
  CHECK(second.at(audit, 0).event(seen).store(*daemon).duplicates == 1);
  Batch third{inbox};
  CHECK(third.at(audit, 1).event(seen, "other").store(*daemon).conflicts == 1);
  CHECK(inbox.database().number("select due from inbox.backlog where handler = 'of-audit'") == 1);
  handler.name = "late";
  handler.start = Inbox::beginning();
  handler.topics = {};
  inbox::register_handlers(*daemon, {handler});
  inbox::halt_shard(*daemon, *inbox::find_position(*daemon, "orders", 0), "why", std::nullopt);
  inbox::resume_shard(*daemon, orders, "why");
  inbox::record_watermarks(*daemon, {{orders, 10}});
  inbox::halt_shard(*daemon, *inbox::find_position(*daemon, "audit", 0), "a gap", event::OffsetRange{2, 9});
  CHECK(operations::accept_gap(*daemon, operations::read_partitions(*daemon, {{"audit"}, true, true}).at(0), "ann")
            .has_value());

  daemon = roles.connect({"worker"});
  backfill_all(*daemon, 100);
  auto claimed = claim_due(*daemon, id, inbox.owner);
  REQUIRE(claimed.runs.size() == 1);
  CHECK(inbox::renew(*daemon, inbox.owner, {claimed.runs[0].key}, 30s) == 1);
  for (const char* const step : {"replay", "discard"}) {
    CAPTURE(step);
    auto given_up = all_done(claimed.runs.at(0));
    given_up.done = {};
    for (const auto* event : claimed.runs[0].events) {
      given_up.failures.push_back({event->event_id, 1, "timeout", "no answer", milliseconds{12}});
      given_up.dead.push_back({event->offset, event->event_id});
    }
    REQUIRE(inbox::settle(*daemon, inbox.owner, {given_up}).empty());
    std::vector<std::int64_t> dead_ids;
    const auto list = operations::list_dead(*daemon, {}, 100);
    for (const auto& dead_letter : list.letters)
      dead_ids.push_back(dead_letter.at("dead_letter_id").get<std::int64_t>());
    REQUIRE(dead_ids.size() == given_up.dead.size());
    if (std::string_view{step} == "discard") {
      CHECK(operations::discard_dead(*daemon, dead_ids, {"ann", "all"}).letters ==
            static_cast<std::int64_t>(dead_ids.size()));
      break;
    }
    inbox.database().run("delete from inbox.event where shard_id = " + std::to_string(orders));  // a day was dropped
    CHECK(operations::replay_dead(*daemon, dead_ids, {"ann", "all"}).restored ==
          static_cast<std::int64_t>(dead_ids.size()));
    claimed = claim_due(*daemon, id, inbox.owner);
  }
  CHECK_FALSE(inbox::drop_partition(*daemon, "event", 24h).has_value());
  inbox.database().run("update inbox.ledger_generation set began_at = '2020-01-01'");
  CHECK(inbox::freeze_generation(*daemon, 0, 24h));
  inbox::drop_generation(*daemon, 24h);
  const auto generation = inbox::read_generations(*daemon).at(0);
  inbox::store_filter(*daemon, generation.frozen.filter_key, inbox::IdFilter{generation.frozen.filter_key, 1});
  inbox::note_resends(*daemon, {{4, 1}});
  inbox::trim_positions(*daemon, 100);
  inbox::trim_old_rows(*daemon, 24h, 24h, 100);
  const auto late = operations::find_pending(*daemon, "late", 1min).value();
  operations::BackfillRequest request;
  request.handler_id = late.handler_id;
  CHECK(operations::request_backfill(*daemon, request, "ann", "late").has_value());
  CHECK(inbox::feed_backfill(*daemon, {late.handler_id}, {1'000}).state == inbox::Fed::State::fed);
  operations::cancel_backfill(*daemon, late.handler_id, "ann");
  operations::retire_handler(*daemon, late, "ann");
  operations::drop_pending(*daemon, late.handler_id, 100);
  CHECK(operations::restore_handler(*daemon, late.handler_id, "ann"));

  daemon = roles.connect({"ingest"});
  handler.name = "late";
  const auto known = inbox::register_handlers(*daemon, {handler});
  inbox.database().run(  // the database loses the restored handler
      "update inbox.handler set retired_at = now(), changed_under = changed_under - 1 where name = 'late'");
  CHECK_FALSE(inbox::register_handlers(*daemon, {handler}, "test", known).at(0).is_retired);
}

TEST_CASE("each role has exactly the rights of its row, table by table") {
  Inbox inbox;
  RolesFixture roles{inbox};
  inbox.database().run("grant update, delete on inbox.audit to " + roles.name("worker") +
                       "; grant insert on inbox.audit to " + roles.name("reader"));
  roles.apply();  // revokes other grants
  const auto rows = inbox.database().rows(
      "select c.relname || ': ' || string_agg(replace(g.role, $1, '') || ' ' || g.rights, ', ' order by g.role) "
      "from pg_class c cross join lateral ("
      "  select pg_get_userbyid(a.grantee) as role, string_agg(a.name, ' ' order by a.name) as rights from ("
      "    select grantee, lower(privilege_type) as name from aclexplode(c.relacl)"
      "    union all"
      "    select x.grantee, lower(x.privilege_type) || '(' || t.attname || ')'"
      "    from pg_attribute t cross join lateral aclexplode(t.attacl) x where t.attrelid = c.oid) a "
      "  where a.grantee <> c.relowner and pg_get_userbyid(a.grantee) <> $1 || 'monitor' group by a.grantee) g "
      "where c.relnamespace = $2::regnamespace and c.relkind in ('r', 'p', 'S') and not c.relispartition "
      "group by c.relname order by c.relname",
      {roles.name(""), inbox.database().schema()});
  std::string found;
  for (const auto& row : rows) found += *row[0] + "\n";
  CHECK(found ==
        "also_seen: ingest insert select, reader select, worker delete select\n"
        "audit: ingest insert select, reader select, worker insert select\n"
        "backfill: ingest delete insert select, reader select, worker delete select update\n"
        "backfill_range: ingest select, reader select, worker delete insert select update\n"
        "backfill_request: ingest delete select, reader select, worker delete insert select update\n"
        "batch_window: ingest delete select, reader select, worker insert select update\n"
        "call_share: ingest select, reader select, worker delete insert select\n"
        "dead_letter: ingest select update(lane) update(parks) update(sequence), reader select, worker delete insert "
        "select update\n"
        "dead_letter_topic: ingest delete insert select update, reader select, worker select\n"
        "delivery: ingest delete insert select update(due_at) update(fence) update(group_key) "
        "update(lane) update(last_error) update(ordinal) update(owner) update(sequence), reader select, worker delete "
        "insert select update\n"
        "delivery_delivery_id_seq: ingest usage\n"
        "edit: ingest select, reader select, worker delete insert select update\n"
        "event: ingest insert select, reader select, worker delete insert select update(decoded) "
        "update(forgotten_at) update(headers) "
        "update(key) update(payload) update(source_id) update(subject)\n"
        "failure: ingest select, reader select, worker insert select update(message)\n"
        "former_subscription: ingest insert select, reader select, worker delete select\n"
        "handler: ingest insert select update, reader select, worker select update\n"
        "handler_limit: ingest select, reader select, worker insert select update\n"
        "ingest_right: ingest select update, reader select, worker select\n"
        "instance: ingest insert select update, reader select, worker delete insert select update\n"
        "ledger: ingest insert select update(received_at), reader select, worker select update(received_at)\n"
        "ledger_filter: ingest select, reader select(digest) select(part) select(parts), worker delete insert select\n"
        "ledger_generation: ingest select, reader select, worker select\n"
        "ledger_trim: ingest select, reader select, worker select update\n"
        "local_event: ingest delete insert select, reader select, worker select\n"
        "local_reader: ingest select update, reader select, worker select\n"
        "local_topic: ingest insert select update(deliver_at_limit) update(id_decides) "
        "update(payload_limit), reader select, "
        "worker select\n"
        "migration: ingest select, reader select, worker select\n"
        "outbox: ingest select, reader select, worker delete insert select\n"
        "outbox_lane: ingest select, reader select, worker delete insert select update\n"
        "outbox_waiting: ingest select, reader select, worker delete insert select update\n"
        "outcome: ingest select, reader select, worker insert select\n"
        "position: ingest insert select, reader select, worker delete select\n"
        "quarantine: ingest insert select, reader select, worker delete select update(detail) update(event_id) "
        "update(forgotten_at) update(headers) update(key) update(payload) update(reason)\n"
        "reading: ingest insert select update, reader select, worker delete select\n"
        "relay: ingest select, reader select, worker select update\n"
        "repeatable_migration: ingest select, reader select, worker select\n"
        "resend_age: ingest select, reader select, worker delete insert select update\n"
        "routing: ingest select update, reader select, worker select update\n"
        "sequence: ingest delete select update(wanted_by), reader select, worker insert select update\n"
        "shard: ingest insert select update, reader select, worker select\n"
        "token_grant: ingest select, reader select, worker delete insert select\n"
        "topic_start: ingest insert select, reader select, worker select\n"
        "unsubscribed: ingest select, reader select, worker delete insert select update\n");
  Session worker{roles.settings_of({"ingest", "worker"}).url, inbox.database().schema()};
  for (const char* const change :
       {"update inbox.audit set actor = 'nobody'", "delete from inbox.audit", "truncate inbox.audit"}) {
    CHECK_THROWS_WITH(worker.run(change), Catch::Matchers::ContainsSubstring("permission denied"));
  }
  // check asks for the rights of both roles together.
  CHECK(operations::missing_rights(*roles.connect({"ingest", "worker"})).empty());
}

TEST_CASE("a missing right of the daemon is reported by name") {
  Inbox inbox;
  RolesFixture roles{inbox};
  const auto daemon = roles.connect({"ingest", "worker"});
  const std::vector<std::pair<std::string, std::string>> rights{
      {"insert on inbox.audit", "insert on audit"},
      {"insert on inbox.ledger", "insert on ledger"},
      {"update on inbox.ledger_trim", "update on ledger_trim"},
      {"update (received_at) on inbox.ledger", "update (received_at) on ledger"},
      {"update (forgotten_at) on inbox.event",
       "update (key, payload, decoded, headers, subject, source_id, forgotten_at) on event"},
      {"update (message) on inbox.failure", "update (message) on failure"},
      {"delete on inbox.former_subscription", "delete on former_subscription"},
      {"select on inbox.migration", "select on migration"},
      {"select on inbox.repeatable_migration", "select on repeatable_migration"},
      {"execute on function inbox.make_partitions(int)", "execute on make_partitions"}};
  const std::string both = roles.name("ingest") + ", " + roles.name("worker");
  for (const auto& [right, reported] : rights) {
    CAPTURE(right);
    inbox.database().run("revoke " + right + " from " + both);
    const auto missing = operations::missing_rights(*daemon);
    CHECK(std::find(missing.begin(), missing.end(), reported) != missing.end());
    roles.apply();
    CHECK(operations::missing_rights(*daemon).empty());
  }
}

TEST_CASE("a reader can neither create nor drop days, and the ingest role cannot drop them") {
  using namespace std::chrono_literals;
  Inbox inbox;
  RolesFixture roles{inbox};
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1).store(inbox.connection());
  inbox.database().run(
      "create table inbox.event_20200101 partition of inbox.event for values from ('2020-01-01') to ('2020-01-02')");
  {
    const auto reader = roles.connect({"reader"});
    CHECK(failure_of([&] { inbox::drop_partition(*reader, "event", 0ms); }).sqlstate == "42501");
    CHECK(failure_of([&] { inbox::make_partitions(*reader, 3); }).sqlstate == "42501");
    CHECK(inbox::find_position(*reader, "orders", 0)->next_offset == 1);
  }
  {
    const auto ingest = roles.connect({"ingest"});
    CHECK(failure_of([&] { inbox::drop_partition(*ingest, "event", 0ms); }).sqlstate == "42501");
    CHECK(inbox::make_partitions(*ingest, 2) == 0);
  }
  const auto stranger = roles.connect({});
  CHECK(failure_of([&] { inbox::drop_partition(*stranger, "event", 0ms); }).sqlstate == "42501");
  // Functions with owner rights are for the daemon's roles; a single function only reads a handler's call.
  CHECK(inbox.database().text("select string_agg(proname, ' ' order by proname) from pg_proc p, aclexplode(p.proacl) a "
                              "where p.prosecdef and a.grantee = 0 and p.pronamespace = $1::regnamespace",
                              {inbox.database().schema()}) == "call_events");
  CHECK(inbox.database().number("select count(*) from inbox.events") == 1);
}

TEST_CASE("the daemon's roles see the sessions that block vacuum, of any login") {
  Inbox inbox;
  RolesFixture roles{inbox};
  const auto daemon = roles.connect({"ingest", "worker"});
  Session superuser{inbox.database().url(), inbox.database().schema()};
  superuser.run("begin; update inbox.routing set version = version");
  const auto found = inbox::find_oldest_transaction(*daemon);
  REQUIRE(found.has_value());
  CHECK_FALSE(found->id.empty());
  superuser.run("rollback");
}

TEST_CASE("an application's role may publish and nothing else") {
  Inbox inbox;
  RolesFixture roles{inbox};
  Session application{roles.settings_of({"publisher"}).url, inbox.database().schema()};
  const std::string id = application.text("select inbox.publish('orders', 'k', '{}', '{\"a\": \"b\"}')");
  application.run("select inbox.publish('orders', '\\x00'::bytea, '\\x01', null)");
  CHECK(inbox.database().number("select count(*) from inbox.outbox") == 2);
  CHECK(inbox.database().text("select message_id from inbox.outbox order by outbox_id limit 1") == id);
  for (const auto& row : inbox.database().rows("select relname from pg_class where relnamespace = $1::regnamespace and "
                                               "relkind in ('r', 'p', 'v')",
                                               {inbox.database().schema()})) {
    CAPTURE(*row[0]);
    CHECK_THROWS_WITH(application.run("select 1 from inbox." + *row[0]),
                      Catch::Matchers::ContainsSubstring("permission denied"));
  }
  for (const char* const change :
       {"insert into inbox.outbox (message_id, topic) values (gen_random_uuid(), 'a')", "delete from inbox.outbox",
        "update inbox.relay set fence = 1", "select inbox.make_partitions(1)",
        "select inbox.publish_batch('{a}', '{x}', '{x}', '{x}', '{null}')"}) {
    CAPTURE(change);
    CHECK_THROWS_WITH(application.run(change), Catch::Matchers::ContainsSubstring("permission denied"));
  }
}

TEST_CASE("an application's role may enqueue and nothing else") {
  Inbox inbox;
  RolesFixture roles{inbox};
  inbox::declare_local(inbox.connection(), {{"signup", 1 << 20}});
  Session application{roles.settings_of({"enqueuer"}).url, inbox.database().schema()};
  application.run(
      "create function pg_temp.length(bytea) returns int language plpgsql as 'begin raise exception ''called''; end'; "
      "create temp table local_topic (topic text); set search_path = pg_temp, pg_catalog");
  const std::string id = application.text("select inbox.enqueue('signup', 'made', '{}', key => 'k')");
  application.run("select inbox.enqueue('signup', 'made', '{}'::jsonb, headers => '{\"a\": \"b\"}')");
  application.run("select inbox.enqueue('signup', 'made', '\\x00'::bytea)");
  application.run("select inbox.enqueue_batch('signup', '{a,b}', '{\\x00,\\x01}'::bytea[])");
  application.run("select inbox.enqueue_batch('signup', null, array['{}']::jsonb[], key => '{k}')");
  CHECK(inbox.database().number("select count(*) from inbox.local_event") == 6);
  CHECK(inbox.database().text("select event_id from inbox.local_event order by local_id limit 1") == id);
  for (const auto& row : inbox.database().rows("select relname from pg_class where relnamespace = $1::regnamespace and "
                                               "relkind in ('r', 'p', 'v')",
                                               {inbox.database().schema()})) {
    CAPTURE(*row[0]);
    CHECK_THROWS_WITH(application.run("select 1 from inbox." + *row[0]),
                      Catch::Matchers::ContainsSubstring("permission denied"));
  }
  for (const char* const change :
       {"insert into inbox.local_event (shard_id, event_id, event_type) values (1, gen_random_uuid(), 'a')",
        "delete from inbox.local_event", "select inbox.declare_local('{a}', '{1}', '{1}', '{}')",
        "select inbox.publish('orders', 'k', '{}')", "select inbox.make_partitions(1)"}) {
    CAPTURE(change);
    CHECK_THROWS_WITH(application.run(change), Catch::Matchers::ContainsSubstring("permission denied"));
  }
  for (const char* const role : {"reader", "ingest", "publisher"}) {
    CAPTURE(role);
    Session other{roles.settings_of({role}).url, inbox.database().schema()};
    CHECK_THROWS_WITH(other.run("select inbox.enqueue('signup', 'made', '{}')"),
                      Catch::Matchers::ContainsSubstring("permission denied"));
  }
}

TEST_CASE("a monitoring role reads all tables and views but for the content of events") {
  Inbox inbox;
  RolesFixture roles{inbox};
  roles.apply();
  const auto monitored = [&](const std::string& what, const std::string& condition) {
    return inbox.database().text(
        "select coalesce(string_agg(" + what + ", ' ' order by " + what +
            "), '') from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 where "
            "c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition and "
            "has_schema_privilege($2, c.relnamespace, 'usage') and " + condition,
        {inbox.database().schema(), roles.name("monitor")});
  };
  const std::string reads = "has_column_privilege($2, c.oid, a.attnum, 'select')";
  CHECK(monitored("c.relname || '.' || a.attname", "not " + reads) ==
        "audit.detail audit_log.detail backlog.paused_reason dead_letter.decoded dead_letter.headers dead_letter.key "
        "dead_letter.notes "
        "dead_letter.order_key dead_letter.payload dead_letter.reasons dead_letter.source_id dead_letter.subject "
        "dead_letters.headers dead_letters.key dead_letters.last_error dead_letters.notes dead_letters.payload "
        "dead_letters.reasons dead_letters.source_id dead_letters.subject deliveries.last_error delivery.fence "
        "delivery.last_error delivery.order_key edit.headers edit.payload event.decoded event.headers event.key "
        "event.payload "
        "event.source_id event.subject events.headers events.key events.payload events.source_id events.subject "
        "failure.message "
        "failures.message handler.paused_reason ingest_right.fence lanes.key lanes.key_text lanes.last_error "
        "ledger_filter.bits ledger_filter.filter_key ledger_generation.filter_key local_event.headers "
        "local_event.key local_event.payload local_event.source_id local_event.subject local_reader.fence "
        "outbox.headers outbox.key "
        "outbox.payload outbox_lane.error outbox_lane.key outbox_waiting.headers outbox_waiting.key "
        "outbox_waiting.payload quarantine.detail quarantine.headers quarantine.key quarantine.payload "
        "quarantined.detail quarantined.headers quarantined.key quarantined.payload relay.fence "
        "sequence.fence");
  // Figures and names; all other bytes are content.
  CHECK(monitored("c.relname || '.' || a.attname", reads + " and a.atttypid = 'bytea'::regtype") ==
        "instance.history");
  Session monitor{roles.settings_of({"monitor"}).url, inbox.database().schema()};
  for (const auto& view : inbox.database().rows(
           "select relname from pg_class where relnamespace = $1::regnamespace and relkind = 'v'",
           {inbox.database().schema()})) {
    CAPTURE(*view[0]);
    std::string list = monitored("quote_ident(a.attname)", reads + " and c.relname = '" + *view[0] + "'");
    std::replace(list.begin(), list.end(), ' ', ',');
    CHECK_NOTHROW(monitor.run("select " + list + " from inbox." + *view[0]));
    CHECK(inbox.database().text("select has_table_privilege($1, 'inbox.' || $2, 'insert, update, delete') or "
                                "has_any_column_privilege($1, 'inbox.' || $2, 'insert, update')",
                                {roles.name("monitor"), *view[0]}) == "f");
  }
  CHECK_THROWS_WITH(monitor.run("select payload from inbox.event"),
                    Catch::Matchers::ContainsSubstring("permission denied"));
  CHECK(monitor.number("select count(*) from inbox.backlog where is_paused") == 0);
}

TEST_CASE("functions of a hostile role are not called by publish") {
  Inbox inbox;
  RolesFixture roles{inbox};
  Session application{roles.settings_of({"publisher"}).url, inbox.database().schema()};
  application.run(
      "create function pg_temp.length(bytea) returns int language plpgsql as 'begin raise exception ''called''; end'; "
      "create function pg_temp.floor(float8) returns float8 language plpgsql "
      "as 'begin raise exception ''called''; end'; "
      "create temp table outbox (outbox_id int); set search_path = pg_temp, pg_catalog");
  application.run("select inbox.publish('orders', 'k', '{}', '{\"a\": \"b\"}')");
  CHECK(inbox.database().number("select count(*) from inbox.outbox") == 1);
  for (const char* const role : {"reader", "ingest"}) {
    CAPTURE(role);
    Session other{roles.settings_of({role}).url, inbox.database().schema()};
    CHECK_THROWS_WITH(other.run("select inbox.publish('orders', 'k', '{}')"),
                      Catch::Matchers::ContainsSubstring("permission denied"));
  }
}
