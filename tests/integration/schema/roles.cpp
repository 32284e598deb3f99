// sql/roles.sql: its roles can do all that they are for, and no more.
#include "integration/support/roles.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "inbox/operations_check.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("the roles ingest and worker can each do their work, and together all of the daemon's") {
  using namespace std::chrono_literals;
  Inbox inbox;
  Roles roles{inbox};
  roles.apply();  // again, as after each migration
  auto daemon = roles.connect({"ingest", "worker"});
  CHECK(inbox::missing_rights(*daemon).empty());
  inbox::instance_seen(*daemon, {inbox.owner, "host", 1}, false);
  CHECK(inbox::make_partitions(*daemon, 3) == 3);

  daemon = roles.connect({"ingest"});

  config::Handler handler;
  handler.name = "receipt";
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
  CHECK(first.at(orders, 0).event(seen).events(4).reject("no_id").owe(id).store(*daemon).stored == 5);
  Batch second{inbox};  // the same id on another topic, and again with another payload
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

  daemon = roles.connect({"worker"});
  backfill_all(*daemon, 100);
  auto claimed = claim_due(*daemon, id, inbox.owner);
  REQUIRE(claimed.runs.size() == 1);
  CHECK(inbox::renew(*daemon, inbox.owner, {claimed.runs[0].key}, 30s) == 1);
  CHECK(inbox::settle(*daemon, inbox.owner, {all_done(claimed.runs[0])}).empty());
  CHECK_FALSE(inbox::drop_partition(*daemon, "event", 24h).has_value());
  inbox::trim_ledger(*daemon, 24h, 100);
  inbox::trim_positions(*daemon, 100);
  inbox::trim_old_rows(*daemon, 24h, 24h, 100);
}

TEST_CASE("what one of the daemon's rights is missing of is told by name") {
  Inbox inbox;
  Roles roles{inbox};
  const auto daemon = roles.connect({"ingest", "worker"});
  const std::vector<std::pair<std::string, std::string>> rights{
      {"insert on inbox.audit", "insert on audit"},
      {"delete on inbox.ledger", "delete on ledger"},
      {"update on inbox.ledger_trim", "update on ledger_trim"},
      {"update (received_at) on inbox.ledger", "update (received_at) on ledger"},
      {"delete on inbox.former_subscription", "delete on former_subscription"},
      {"select on inbox.migration", "select on migration"},
      {"execute on function inbox.make_partitions(int)", "execute on make_partitions"}};
  const std::string both = roles.name("ingest") + ", " + roles.name("worker");
  for (const auto& [right, told] : rights) {
    CAPTURE(right);
    inbox.database().run("revoke " + right + " from " + both);
    // Whoever may update a whole table may update its column.
    const bool is_column = right.starts_with("update (");
    if (is_column) inbox.database().run("revoke update on inbox.ledger from " + both);
    const auto missing = inbox::missing_rights(*daemon);
    CHECK(std::find(missing.begin(), missing.end(), told) != missing.end());
    roles.apply();
    CHECK(inbox::missing_rights(*daemon).empty());
  }
}

TEST_CASE("who may only read can neither drop nor make a day, nor who ingests drop one") {
  using namespace std::chrono_literals;
  Inbox inbox;
  Roles roles{inbox};
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
  const auto nobody = roles.connect({});
  CHECK(failure_of([&] { inbox::drop_partition(*nobody, "event", 0ms); }).sqlstate == "42501");
  // What runs with its owner's rights is for those who need it; two functions only read what a handler's call is about.
  CHECK(inbox.database().text("select string_agg(proname, ' ' order by proname) from pg_proc p, aclexplode(p.proacl) a "
                              "where p.prosecdef and a.grantee = 0 and p.pronamespace = $1::regnamespace",
                              {inbox.database().schema()}) == "call_events headers_of");
  CHECK(inbox.database().number("select count(*) from inbox.events") == 1);
}

TEST_CASE("the daemon's roles see who keeps vacuum from cleaning up, whoever that is") {
  Inbox inbox;
  Roles roles{inbox};
  const auto daemon = roles.connect({"ingest", "worker"});
  Session superuser{inbox.database().url(), inbox.database().schema()};
  superuser.run("begin; update inbox.routing set version = version");
  const auto found = inbox::find_oldest_transaction(*daemon);
  REQUIRE(found.has_value());
  CHECK_FALSE(found->id.empty());
  superuser.run("rollback");
}
