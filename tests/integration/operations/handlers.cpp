#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <future>

#include "integration/operations/operation_runner.hpp"
#include "operations/dead_queries.hpp"
#include "operations/handler_queries.hpp"

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

/// A handler with three done and seven pending events.
std::int32_t handler_with_events(Inbox& inbox, std::int32_t shard) {
  const auto handler = inbox.add_handler("receipt", {"orders"});
  Batch{inbox}.at(shard, 0).events(3).deliver_to(handler).store(inbox.connection());
  for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
    inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
  }
  Batch{inbox}.at(shard, 3).events(7).deliver_to(handler).store(inbox.connection());
  return handler;
}

}  // namespace

TEST_CASE("a retired handler has no pending events, its days can be dropped, and its outcomes stay") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = handler_with_events(inbox, shard);
  const auto other = inbox.add_handler("billing", {"orders"}, {}, Inbox::beginning());
  database.run("insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset) values (" +
               std::to_string(handler) + ", " + std::to_string(shard) + ", 0, 10)");
  Batch late{inbox};
  late.at(shard, 10).events(1).deliver_to(handler);
  const auto version = inbox.routing_version();

  OperationRunner runner{inbox};
  const auto plan = runner.run("handlers retire", receipt_with("dry-run"));
  CHECK(plan.code == ExitCode::done);
  CHECK(plan.document.at("events") == 7);
  CHECK(plan.document.at("backfill") == 10);
  CHECK(inbox.routing_version() == version);

  const auto answer = runner.run("handlers retire", receipt);
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

  const auto again = runner.run("handlers retire", receipt);
  CHECK(again.code == ExitCode::done);
  CHECK(again.document.at("was_retired") == true);
  CHECK(again.document.at("dropped") == 0);
  CHECK(database.number("select count(*) from inbox.audit where operation = 'handlers retire'") == 1);
}

TEST_CASE("an unknown handler is neither retired nor restored, and the nearest name is shown") {
  Inbox inbox;
  OperationRunner runner{inbox};
  const std::string verb = GENERATE("handlers retire", "handlers restore");
  CHECK(runner.run(verb, receipt).message == verb + ": no handler \"receipt\"");
  inbox.add_handler("billing");
  inbox.add_handler("mail");
  const auto answer = runner.run(verb, receipt);
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.message == verb + ": no handler \"receipt\"; known: billing, mail");
  inbox.add_handler("reciept");
  const auto near = runner.run(verb, receipt);
  CHECK(near.message == verb + ": no handler \"receipt\"; did you mean \"reciept\"?");
  CHECK(near.document == operations::Document{{"did_you_mean", "reciept"}});
}

TEST_CASE("a handler that daemons configure can be retired, and the answer names the live daemons") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  OperationRunner runner{inbox};
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false, {}, {handler, 7});
  SECTION("a live daemon") {
    const auto plan = runner.run("handlers retire", receipt_with("dry-run"));
    CHECK(plan.document.at("configured_by") == operations::Document::array({"host-a (process 42)"}));
    CHECK(inbox::read_routing(inbox.connection()).handlers.size() == 1);
  }
  SECTION("not of a daemon that has stopped") {
    inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, true, {}, {handler});
    CHECK(runner.run("handlers retire", receipt_with("dry-run")).document.at("configured_by").empty());
  }
  SECTION("nor of a daemon that was not seen for long") {
    inbox.database().run("update inbox.instance set last_seen_at = last_seen_at - interval '2 minutes'");
    CHECK(runner.run("handlers retire", receipt_with("dry-run")).document.at("configured_by").empty());
  }
  CHECK(runner.run("handlers retire", receipt).code == ExitCode::done);
  CHECK(inbox::read_routing(inbox.connection()).handlers.empty());
}

TEST_CASE("events that are locked when their handler is retired are dropped once free; an interrupted drop resumes") {
  Inbox inbox;
  handler_with_events(inbox, inbox.add_shard("orders"));
  OperationRunner runner{inbox};
  auto busy = std::make_unique<Session>(inbox.database().url(), inbox.database().schema());
  busy->run("begin");
  busy->run("select from inbox.delivery for update");
  int pauses = 0;
  runner.context.pause = [&](milliseconds) { return ++pauses == 3; };
  const auto first = runner.run("handlers retire", receipt);
  CHECK(first.code == ExitCode::try_again);
  CHECK(first.document.at("interrupted") == true);
  CHECK(first.document.at("dropped") == 0);
  pauses = 0;
  const auto restored = runner.run("handlers restore", receipt);
  CHECK(restored.code == ExitCode::try_again);
  CHECK_THAT(restored.message, ContainsSubstring("still retired; 7 events are left to drop"));
  CHECK(inbox::read_routing(inbox.connection()).handlers.empty());

  runner.context.pause = [&](milliseconds) {
    busy.reset();
    return false;
  };
  const auto second = runner.run("handlers retire", receipt);
  CHECK(second.code == ExitCode::done);
  CHECK(second.document.at("dropped") == 7);
  CHECK(inbox.pending_events() == 0);
}

TEST_CASE("retiring a handler that is restored meanwhile reports that it is not retired") {
  Inbox inbox;
  const auto handler = handler_with_events(inbox, inbox.add_shard("orders"));
  OperationRunner runner{inbox};
  const auto other = inbox.connect();
  Session busy{inbox.database().url(), inbox.database().schema()};
  busy.run("begin");
  busy.run("select from inbox.delivery for update");
  runner.context.pause = [&](milliseconds) {
    busy.run("rollback");
    operations::restore_handler(*other, handler, "bob");
    return false;
  };
  const auto answer = runner.run("handlers retire", receipt);
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.message == "handlers retire: receipt was restored meanwhile");
}

TEST_CASE("a retired handler stays retired despite the configuration; once restored it gets new events only") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = handler_with_events(inbox, shard);
  OperationRunner runner{inbox};
  REQUIRE(runner.run("handlers retire", receipt).code == ExitCode::done);
  Batch{inbox}.at(shard, 10).events(5).store(inbox.connection());
  const auto retired_version = inbox.routing_version();

  CHECK(inbox.add_handler("receipt", {"orders"}, {}, Inbox::beginning()) == handler);
  backfill_all(inbox.connection());
  CHECK(inbox.routing_version() == retired_version);
  CHECK(inbox.pending_events() == 0);
  CHECK(inbox::read_routing(inbox.connection()).handlers.empty());

  CHECK(runner.run("handlers restore", receipt_with("dry-run")).document.at("was_retired") == true);
  CHECK(inbox.routing_version() == retired_version);
  const auto answer = runner.run("handlers restore", receipt);
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("was_retired") == true);
  CHECK(inbox.routing_version() > retired_version);
  Batch stale{inbox};
  stale.get().routing_version = retired_version;
  CHECK(stale.at(shard, 15).events(1).store(inbox.connection()).routing_is_stale);
  CHECK(inbox.add_handler("receipt", {"orders"}, {}, Inbox::beginning()) == handler);
  backfill_all(inbox.connection());
  CHECK(inbox.pending_events() == 0);
  Batch{inbox}.at(shard, 15).events(2).deliver_to(handler).store(inbox.connection());
  CHECK(database.text("select string_agg(state || ' ' || n, ', ' order by state) from "
                      "(select state, count(*) n from inbox.deliveries group by state) x") == "done 3, due 2");
  CHECK(database.text("select string_agg(actor || ' ' || operation, ', ' order by audit_id) from inbox.audit "
                      "where target = 'receipt' and operation <> 'handlers add'") ==
        "ann@host handlers retire, ann@host handlers restore");

  const auto again = runner.run("handlers restore", receipt);
  CHECK(again.code == ExitCode::done);
  CHECK(again.document.at("was_retired") == false);
  CHECK(inbox.pending_events() == 2);
}

TEST_CASE("dead letters are kept while their handler is retired, and can be replayed once it is restored") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto handler = inbox.add_handler("receipt", {"orders"});
  const auto dead_id = base::random_uuid();
  Batch{inbox}.at(shard, 0).event(dead_id).deliver_to(handler).store(inbox.connection());
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::Settlement settlement;
  settlement.key = run.key;
  settlement.whole = true;
  settlement.dead = {{0, dead_id}};
  REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  OperationRunner runner{inbox};
  REQUIRE(runner.run("handlers retire", receipt).code == ExitCode::done);
  CHECK(runner.run("dead replay", {{"all", {"true"}}}).document.at("of_retired_handlers") == 1);
  REQUIRE(runner.run("handlers restore", receipt).code == ExitCode::done);
  CHECK(runner.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 1);
}

TEST_CASE("a dead letter whose event a back-fill delivers again is deleted, and not replayed before") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = inbox.add_handler("receipt", {"orders"}, {"Paid"});
  const auto dead_id = base::random_uuid(), dead_and_unwanted = base::random_uuid();
  Batch batch{inbox};
  batch.at(shard, 0).events(2, "{}", "Paid").event(dead_id, "{}", "Paid").event(dead_and_unwanted, "{}", "Sent");
  batch.deliver_to(handler).store(inbox.connection());
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::Settlement settlement = all_done(run);
  settlement.done = event::OffsetSet::parse("{[0,2)}").value();
  settlement.dead = {{2, dead_id}, {3, dead_and_unwanted}};
  REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  database.run("insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset) values (" +
               std::to_string(handler) + ", " + std::to_string(shard) + ", 0, 4)");
  OperationRunner runner{inbox};

  const auto early = runner.run("dead replay", {{"all", {"true"}}});
  CHECK(early.code == ExitCode::no);
  CHECK(early.document.at("awaited_by_backfill") == 2);
  CHECK_THAT(early.message, ContainsSubstring("a back-fill of the handler has yet to pass the matching dead letters"));
  const auto letters = database.number("select min(dead_letter_id) from inbox.dead_letter");
  CHECK(operations::replay_dead(inbox.connection(), {letters, letters + 1}, {"ann", "all"}).letters == 0);

  const auto step = inbox::backfill_bite(inbox.connection(), 1000);
  REQUIRE(step.has_value());
  CHECK(step->events == 3);
  CHECK(step->dead_letters == 1);
  CHECK_FALSE(inbox::backfill_bite(inbox.connection(), 1000).has_value());
  CHECK(database.text("select event_id::text from inbox.dead_letter") == dead_and_unwanted.text());
  CHECK(runner.run("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 4);
}

TEST_CASE("deliveries that are split or rescheduled while their retired handler is restored are dropped, too") {
  Inbox inbox;
  auto& database = inbox.database();
  const auto shard = inbox.add_shard("orders");
  const auto handler = inbox.add_handler("receipt", {"orders"});
  Batch{inbox}.at(shard, 0).events(7).deliver_to(handler).store(inbox.connection());
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
    other.run(
        "select inbox.settle('" + inbox.owner.text() + "', array[" + std::to_string(run.key.delivery_id) +
        "]::bigint[], array[" + std::to_string(run.key.fence) +
        "]::bigint[], array['{[0,7)}'], array['{}'], array['{}'], array[1], array['{[0,7)}'], array[5]::bigint[], "
        "array['late'], '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', "
        "'{}', '{}', '{}')");
  }
  SECTION("a step of its back-fill") {
    database.run("delete from inbox.delivery");
    database.run("insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset) values (" + of_it + ", " +
                 std::to_string(shard) + ", 0, 7)");
    other.run("begin");
    other.run("select inbox.backfill_bite(3, 1000000)");
  }

  const auto elsewhere = inbox.connect();
  auto restoring =
      std::async(std::launch::async, [&] { return operations::restore_handler(*elsewhere, handler, "ann"); });
  database.wait_for("it waits for the other",
                    "select count(*) from pg_stat_activity where wait_event in ('transactionid', 'tuple', 'PgSleep') "
                    "and query like '%' || '" +
                        database.schema() + "' || '%'",
                    1);
  other.run("commit");
  CHECK(restoring.get());
  CHECK(database.number("select count(*) from inbox.delivery") == 0);
  CHECK(database.number("select count(*) from inbox.backfill") == 0);
}
