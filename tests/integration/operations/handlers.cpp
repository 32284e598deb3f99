// Handlers that are retired: what they are owed goes, what they did stays, and they come back as new ones.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>

#include "inbox/operations_dead.hpp"
#include "integration/operations/ask.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using Catch::Matchers::ContainsSubstring;

namespace {

const std::map<std::string, std::vector<std::string>> receipt{{"handler", {"receipt"}}};

std::map<std::string, std::vector<std::string>> receipt_with(const std::string& flag) {
  auto out = receipt;
  out[flag] = {"true"};
  return out;
}

/// Three events done by the handler, seven that it is owed.
std::int32_t handler_with_events(Inbox& inbox, std::int32_t shard) {
  const auto handler = inbox.add_handler("receipt", {"orders"});
  Batch{inbox}.at(shard, 0).events(3).owe(handler).store(inbox.connection());
  for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
    inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
  }
  Batch{inbox}.at(shard, 3).events(7).owe(handler).store(inbox.connection());
  return handler;
}

}  // namespace

TEST_CASE("a retired handler is owed nothing any more, its days go, and what it did stays") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = handler_with_events(inbox, shard);
  const auto other = inbox.add_handler("billing", {"orders"}, {}, Inbox::beginning());
  database.run("insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset) values (" +
               std::to_string(handler) + ", " + std::to_string(shard) + ", 0, 10)");
  Batch late{inbox};
  late.at(shard, 10).events(1).owe(handler);
  const auto version = inbox.routing_version();

  Desk desk{inbox};
  const auto plan = desk.ask("handlers retire", receipt_with("dry-run"));
  CHECK(plan.code == ExitCode::done);
  CHECK(plan.document.at("events") == 7);
  CHECK(plan.document.at("backfill") == 10);
  CHECK(inbox.routing_version() == version);

  const auto answer = desk.ask("handlers retire", receipt);
  INFO(answer.message);
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("dropped") == 7);
  CHECK(answer.document.at("interrupted") == false);
  CHECK(inbox.routing_version() > version);
  CHECK(late.store(inbox.connection()).routing_is_stale);
  for (const auto& subscription : inbox::read_routing(inbox.connection()).handlers) {
    CHECK(subscription.handler_id == other);
  }
  const std::string its = " where handler_id = " + std::to_string(handler);
  CHECK(database.number("select count(*) from inbox.delivery" + its) == 0);
  CHECK(database.number("select count(*) from inbox.backfill" + its) == 0);
  CHECK(database.number("select count(*) from inbox.backfill") == 1);
  CHECK(database.number("select count(*) from inbox.event") == 10);
  CHECK(database.number("select count(*) from inbox.deliveries where handler = 'receipt' and state = 'done'") == 3);
  CHECK(database.text("select actor || ' ' || target || ' ' || (detail ->> 'events') || ' ' || (detail ->> 'backfill') "
                      "from inbox.audit where operation = 'handlers retire'") == "ann@host receipt 7 10");

  const auto again = desk.ask("handlers retire", receipt);
  CHECK(again.code == ExitCode::done);
  CHECK(again.document.at("was_retired") == true);
  CHECK(again.document.at("dropped") == 0);
  CHECK(database.number("select count(*) from inbox.audit where operation = 'handlers retire'") == 1);
}

TEST_CASE("a handler that nobody knows is not retired, and the answer says which there are") {
  Inbox inbox;
  Desk desk{inbox};
  CHECK(desk.ask("handlers retire", receipt).message == "handlers retire: there is no handler receipt");
  inbox.add_handler("billing");
  inbox.add_handler("mail");
  const auto answer = desk.ask("handlers retire", receipt);
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.message == "handlers retire: there is no handler receipt; there are billing, mail");
}

TEST_CASE("a handler that a daemon runs is retired by force alone, one of a daemon that is gone is retired at once") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Desk desk{inbox};
  inbox::instance_seen(inbox.connection(), {inbox.owner, "host-a", 42}, false, {}, {handler, 7});
  const auto refused = desk.ask("handlers retire", receipt);
  CHECK(refused.code == ExitCode::no);
  CHECK_THAT(refused.message, ContainsSubstring("receipt is run by host-a (process 42)"));
  CHECK(refused.document.at("refused") == true);
  CHECK(desk.ask("handlers retire", receipt_with("dry-run")).code == ExitCode::no);
  CHECK(inbox::read_routing(inbox.connection()).handlers.size() == 1);

  SECTION("by force") { CHECK(desk.ask("handlers retire", receipt_with("force")).code == ExitCode::done); }
  SECTION("after a reload without it") {
    inbox::instance_seen(inbox.connection(), {inbox.owner, "host-a", 42}, false, {}, {7});
    CHECK(desk.ask("handlers retire", receipt).code == ExitCode::done);
  }
  SECTION("after it said goodbye") {
    inbox::instance_seen(inbox.connection(), {inbox.owner, "host-a", 42}, true, {}, {handler});
    CHECK(desk.ask("handlers retire", receipt).code == ExitCode::done);
  }
  SECTION("when it was not seen for long") {
    inbox.database().run("update inbox.instance set last_seen_at = last_seen_at - interval '2 minutes'");
    CHECK(desk.ask("handlers retire", receipt).code == ExitCode::done);
  }
  CHECK(inbox::read_routing(inbox.connection()).handlers.empty());
}

TEST_CASE("a handler that a daemon takes up is kept from its registration on, also by one that changes nothing") {
  Inbox inbox;
  inbox.add_handler("receipt");
  const inbox::InstanceIdentity daemon{inbox.owner, "host-a", 42};
  inbox::instance_seen(inbox.connection(), daemon, false);
  const auto version = inbox.routing_version();
  const auto reload_with = [&](const std::string& name) {
    config::Handler handler;
    handler.name = name;
    inbox::register_handlers(inbox.connection(), {handler}, "test", {}, daemon);
  };
  reload_with("receipt");
  CHECK(inbox.routing_version() == version);
  inbox::instance_seen(inbox.connection(), daemon, false);  // that was under way, with the handlers of before
  Desk desk{inbox};
  const auto refused = desk.ask("handlers retire", receipt);
  CHECK(refused.code == ExitCode::no);
  CHECK_THAT(refused.message, ContainsSubstring("receipt is run by host-a (process 42)"));
  reload_with("another");
  CHECK(desk.ask("handlers retire", receipt).code == ExitCode::done);
}

TEST_CASE("a handler that a daemon takes up between the look and the retirement is not retired") {
  Inbox inbox;
  auto& database = inbox.database();
  handler_with_events(inbox, inbox.add_shard("orders"));
  Session registering{database.url(), database.schema()};
  const std::string lock = "1768841848, 'inbox.routing'::regclass::oid::int";
  registering.run("begin");
  registering.run("select pg_advisory_xact_lock(" + lock + ")");
  registering.run(
      "insert into inbox.instance (instance_id, host, version, process_id, taken_up) "
      "select gen_random_uuid(), 'host-a', '1', 42, array_agg(handler_id) from inbox.handler");
  const auto elsewhere = inbox.connect();
  Desk desk{inbox};
  desk.context.connection = elsewhere.get();
  auto answer = std::async(std::launch::async, [&] { return desk.ask("handlers retire", receipt); });
  database.wait_for("it waits for the registration",
                    "select count(*) from pg_locks where locktype = 'advisory' and classid = 1768841848 "
                    "and objid = 'inbox.routing'::regclass::oid and not granted",
                    1);
  registering.run("commit");
  const auto refused = answer.get();
  CHECK(refused.code == ExitCode::no);
  CHECK_THAT(refused.message, ContainsSubstring("receipt is run by host-a (process 42)"));
  CHECK(refused.document.at("run_by").size() == 1);
  CHECK(inbox.outstanding() == 7);
  CHECK(inbox::read_routing(inbox.connection()).handlers.size() == 1);
}

TEST_CASE("what somebody is at when its handler is retired goes when it is free, and interrupted it goes on later") {
  Inbox inbox;
  handler_with_events(inbox, inbox.add_shard("orders"));
  Desk desk{inbox};
  auto busy = std::make_unique<Session>(inbox.database().url(), inbox.database().schema());
  busy->run("begin");
  busy->run("select from inbox.delivery for update");
  int pauses = 0;
  desk.context.pause = [&](milliseconds) { return ++pauses == 3; };
  const auto first = desk.ask("handlers retire", receipt);
  CHECK(first.code == ExitCode::try_again);
  CHECK(first.document.at("interrupted") == true);
  CHECK(first.document.at("dropped") == 0);

  desk.context.pause = [&](milliseconds) {
    busy.reset();
    return false;
  };
  const auto second = desk.ask("handlers retire", receipt);
  CHECK(second.code == ExitCode::done);
  CHECK(second.document.at("dropped") == 7);
  CHECK(inbox.outstanding() == 0);
}

TEST_CASE("a handler that a daemon adds again while its events are dropped: the answer says that it is not retired") {
  Inbox inbox;
  handler_with_events(inbox, inbox.add_shard("orders"));
  Desk desk{inbox};
  const auto daemon = inbox.connect();
  Session busy{inbox.database().url(), inbox.database().schema()};
  busy.run("begin");
  busy.run("select from inbox.delivery for update");
  desk.context.pause = [&](milliseconds) {
    busy.run("rollback");
    config::Handler handler;
    handler.name = "receipt";
    inbox::register_handlers(*daemon, {handler});
    return false;
  };
  const auto answer = desk.ask("handlers retire", receipt);
  CHECK(answer.code == ExitCode::no);
  CHECK_THAT(answer.message, ContainsSubstring("has added it again meanwhile"));
  CHECK(answer.document.at("refused") == true);
}

TEST_CASE("a retired handler that is configured again is a new one: owed by `start`, and nothing of before") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = handler_with_events(inbox, shard);
  Desk desk{inbox};
  database.run("update inbox.handler set retired_at = now()");  // as if the command had been killed before it dropped
  Batch{inbox}.at(shard, 10).events(5).store(inbox.connection());
  const auto retired_version = inbox.routing_version();
  const auto states = [&] {
    return database.text(
        "select string_agg(state || ' ' || n, ', ' order by state) from "
        "(select state, count(*) n from inbox.deliveries group by state) x");
  };

  SECTION("from now on") {
    CHECK(inbox.add_handler("receipt", {"orders"}) == handler);
    backfill_all(inbox.connection());
    CHECK(states() == "done 3");
    CHECK(database.text("select handler || ' ' || due from inbox.backlog") == "receipt 0");
  }
  SECTION("from the beginning") {
    CHECK(inbox.add_handler("receipt", {"orders"}, {}, Inbox::beginning()) == handler);
    backfill_all(inbox.connection());
    CHECK(database.text("select handler || ' ' || due from inbox.backlog") == "receipt 15");
    CHECK(states() == "due 15");
    const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
    CHECK(events_in(runs) == 15);
    for (const auto& run : runs) inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
    CHECK(states() == "done 15");
  }
  CHECK(inbox.routing_version() > retired_version);
  CHECK(database.number("select count(*) from inbox.handler where retired_at is null") == 1);
  CHECK(database.text("select target || ' ' || (detail ? 'retired_at') from inbox.audit "
                      "order by audit_id desc limit 1") == "receipt true");
  // The same again changes nothing.
  const auto version = inbox.routing_version();
  inbox.add_handler("receipt", {"orders"});
  CHECK(inbox.routing_version() == version);
}

TEST_CASE(
    "a dead letter of a handler's former life goes where its back-fill owes the event, and is replayed after that") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = inbox.add_handler("receipt", {"orders"});
  const auto died = base::random_uuid(), died_and_unwanted = base::random_uuid();
  Batch batch{inbox};
  batch.at(shard, 0).events(2, "{}", "Paid").event(died, "{}", "Paid").event(died_and_unwanted, "{}", "Sent");
  batch.owe(handler).store(inbox.connection());
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::Settlement settlement = all_done(run);
  settlement.done = event::OffsetSet::parse("{[0,2)}").value();
  settlement.dead = {{2, died}, {3, died_and_unwanted}};
  REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  Desk desk{inbox};
  REQUIRE(desk.ask("handlers retire", receipt).code == ExitCode::done);
  REQUIRE(inbox.add_handler("receipt", {"orders"}, {"Paid"}, Inbox::beginning()) == handler);

  const auto early = desk.ask("dead replay", {{"all", {"true"}}});
  CHECK(early.code == ExitCode::no);
  CHECK(early.document.at("awaited_by_backfill") == 2);
  CHECK_THAT(early.message, ContainsSubstring("a back-fill of their handler has yet to come by"));
  const auto letters = database.number("select min(dead_letter_id) from inbox.dead_letter");
  CHECK(inbox::replay_dead(inbox.connection(), {letters, letters + 1}, {"ann", "all"}).letters == 0);

  const auto bite = inbox::backfill_bite(inbox.connection(), 1000);
  REQUIRE(bite.has_value());
  CHECK(bite->events == 3);
  CHECK(bite->dead_letters == 1);
  CHECK_FALSE(inbox::backfill_bite(inbox.connection(), 1000).has_value());
  CHECK(database.text("select event_id::text from inbox.dead_letter") == died_and_unwanted.text());
  CHECK(desk.ask("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 4);
}

TEST_CASE("what is split off or due again while its retired handler is added back is forgotten, too") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = inbox.add_handler("receipt", {"orders"});
  Batch{inbox}.at(shard, 0).events(7).owe(handler).store(inbox.connection());
  const std::string of_it = std::to_string(handler);
  Session other{database.url(), database.schema()};
  database.run("update inbox.handler set retired_at = now()");
  SECTION("a claim that takes a part of a run") {
    other.run("begin");
    other.run("select inbox.claim(" + of_it + ", gen_random_uuid(), 7, '30 s', 2, 10, '-infinity')");
  }
  SECTION("a settle that makes all of a run due later") {
    const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
    other.run("begin");
    other.run("select inbox.settle('" + inbox.owner.text() + "', array[" + std::to_string(run.key.delivery_id) +
              "]::bigint[], array[" + std::to_string(run.key.fence) +
              "]::bigint[], array['{[0,7)}'], array['{}'], array[1], array['{[0,7)}'], array[5]::bigint[], "
              "array['late'], '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')");
  }
  SECTION("a bite of its history") {
    database.run("delete from inbox.delivery");
    database.run("insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset) values (" + of_it + ", " +
                 std::to_string(shard) + ", 0, 7)");
    other.run("begin");
    other.run("select inbox.backfill_bite(3, 1000000)");
  }

  const auto elsewhere = inbox.connect();
  config::Handler again;
  again.name = "receipt";
  again.topics = {"orders"};
  auto adding = std::async(std::launch::async, [&] { inbox::register_handlers(*elsewhere, {again}); });
  database.wait_for("it waits for the other",
                    "select count(*) from pg_locks l join pg_stat_activity a using (pid) where not l.granted and "
                    "l.locktype in ('transactionid', 'tuple') and a.query like '%' || '" +
                        database.schema() + "' || '%'",
                    1);
  other.run("commit");
  adding.get();
  CHECK(database.number("select count(*) from inbox.delivery") == 0);
  CHECK(database.number("select count(*) from inbox.backfill") == 0);
}
