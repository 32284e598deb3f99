#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "integration/support/generations.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

// fault: same id, other payload
TEST_CASE("the first payload of an id is stored; a second payload goes to quarantine as a conflict") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(shard, 0).event(id, "ten euros").deliver_to(handler);
  first.store(inbox.connection());

  Batch second{inbox};
  second.at(shard, 1).event(id, "a thousand euros").events(1).deliver_to(handler);
  const auto result = second.store(inbox.connection());

  CHECK(result.conflicts == 1);
  CHECK(result.duplicates == 0);
  CHECK(result.stored == 1);
  CHECK(inbox.database().text("select encode(payload, 'escape') from inbox.event where event_id = $1", {id.text()}) ==
        "ten euros");
  CHECK(
      inbox.database().text("select reason || ' ' || \"offset\" || ' ' || encode(payload, 'escape') || ' ' || event_id "
                            "from inbox.quarantined") == "conflict 1 a thousand euros " + id.text());
}

// fault: same id, other payload
TEST_CASE("a conflict inside one batch is found") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto id = base::random_uuid();
  Batch batch{inbox};
  batch.at(shard, 0).event(id, "first").event(id, "second").event(id, "first");
  const auto result = batch.store(inbox.connection());

  CHECK(result.stored == 1);
  CHECK(result.duplicates == 1);
  CHECK(result.conflicts == 1);
  CHECK(inbox.database().number("select \"offset\" from inbox.quarantine") == 1);
}

TEST_CASE("an id on two topics is one event, delivered once to the handlers of the second topic") {
  Inbox inbox;
  const auto of_first = inbox.add_handler("of-first", {"orders"});
  const auto of_second = inbox.add_handler("of-second", {"audit"});
  const auto of_both = inbox.add_handler("of-both", {"orders", "audit"});
  const auto other_type = inbox.add_handler("other-type", {"audit"}, {"Other*"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).event(id).deliver_to(of_first).deliver_to(of_both);
  first.store(inbox.connection());

  for (const std::int64_t offset : {0, 1, 2}) {  // however often it arrives
    Batch second{inbox};
    second.at(audit, offset).event(id).deliver_to(of_second).deliver_to(of_both);
    CHECK(second.store(inbox.connection()).duplicates == 1);
  }

  const auto claimed = claim_due(inbox.connection(), of_second, inbox.owner);
  REQUIRE(claimed.runs.size() == 1);
  REQUIRE(claimed.runs[0].events.size() == 1);
  CHECK(claimed.runs[0].events[0]->event_id == id);
  CHECK(claimed.runs[0].place->topic == "orders");
  CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(claimed.runs[0])}).empty());
  CHECK(events_in(claim_due(inbox.connection(), of_first, inbox.owner).runs) == 1);
  CHECK(events_in(claim_due(inbox.connection(), of_both, inbox.owner).runs) == 1);
  CHECK(claim_due(inbox.connection(), other_type, inbox.owner).runs.empty());
  CHECK(inbox.database().number("select count(*) from inbox.event") == 1);
}

TEST_CASE("an event is found from another topic even if the first transaction's clock was ahead") {
  Inbox inbox;
  const auto of_second = inbox.add_handler("of-second", {"audit"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).event(id);
  first.store(inbox.connection());
  // As if the first had read its clock after the second, which then waited for the id.
  inbox.database().run("update inbox.event set received_at = received_at + interval '3 s'");

  Batch second{inbox};
  second.at(audit, 0).event(id).deliver_to(of_second);
  second.store(inbox.connection());

  const auto claimed = claim_due(inbox.connection(), of_second, inbox.owner);
  CHECK(events_in(claimed.runs) == 1);
  CHECK(claimed.empty.empty());
}

TEST_CASE("a handler whose topics change gets an id that arrives on several of them once") {
  Inbox inbox;
  inbox.add_handler("moved", {"orders"});
  inbox.add_handler("wider", {"audit"});
  inbox.add_handler("by-third", {"third"});
  inbox.add_handler("by-type", {"orders", "audit"}, {"Other*"});
  inbox.add_handler("unchanged", {"orders", "audit"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto third = inbox.add_shard("third");
  const auto id = base::random_uuid();
  const auto store_on = [&](std::int32_t shard) {
    Batch batch{inbox};
    batch.at(shard, 0).event(id);
    batch.store(inbox.connection());
  };
  store_on(orders);  // in a batch without deliveries, so that only the other topics deliver it
  store_on(third);
  const auto moved = inbox.add_handler("moved", {"audit"});
  const auto wider = inbox.add_handler("wider", {"audit", "orders"});
  const auto by_third = inbox.add_handler("by-third", {"audit"});
  const auto by_type = inbox.add_handler("by-type", {"orders", "audit"});
  const auto unchanged = inbox.add_handler("unchanged", {"orders", "audit"});
  const auto pending = [&](std::int32_t handler) {
    return inbox.database().number("select count(*) from inbox.delivery where handler_id = $1::int",
                                   {std::to_string(handler)});
  };
  CHECK(pending(by_third) == 1);
  store_on(audit);
  CHECK(pending(moved) == 0);  // delivered from orders
  CHECK(pending(wider) == 1);  // did not subscribe to orders then
  CHECK(pending(by_third) == 1);
  CHECK(pending(by_type) == 1);
  CHECK(pending(unchanged) == 0);
}

TEST_CASE("a former subscription is kept until the ledger's retention has passed") {
  Inbox inbox;
  const auto formers = [&] { return inbox.database().number("select count(*) from inbox.former_subscription"); };
  inbox.add_handler("receipt", {"orders"});
  inbox.add_handler("receipt", {"orders"});
  CHECK(formers() == 0);
  inbox.add_handler("receipt", {"audit"});
  CHECK(formers() == 1);
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(2).store(inbox.connection());
  REQUIRE(freeze(inbox));
  CHECK(drop_old(inbox).generation.has_value());
  CHECK(formers() == 1);
  inbox.database().run("update inbox.former_subscription set until = until - 6 * 86400000000");
  Batch next{inbox};
  next.at(batch.get().steps[0].shard_id, 2).events(1).store(inbox.connection());
  REQUIRE(freeze(inbox));
  CHECK(drop_old(inbox).generation.has_value());
  CHECK(formers() == 0);
  inbox.add_handler("receipt", {"orders"});
  CHECK(formers() == 1);
}

TEST_CASE("an id that arrives on two more topics in one batch is delivered once to a handler of both") {
  Inbox inbox;
  const auto handler = inbox.add_handler("of-both", {"audit", "mirror"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto mirror = inbox.add_shard("mirror");
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).event(id);
  first.store(inbox.connection());

  Batch both{inbox};
  both.at(audit, 0).event(id).deliver_to(handler);
  both.at(mirror, 0).event(id).deliver_to(handler);
  both.store(inbox.connection());

  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 1);
}

TEST_CASE(
    "an id that two instances store from two more topics at the same time is delivered once to a handler of both") {
  Inbox inbox;
  const auto handler = inbox.add_handler("of-both", {"audit", "mirror"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto mirror = inbox.add_shard("mirror");
  std::vector<base::Uuid> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(base::random_uuid());
  Batch first{inbox};
  first.at(orders, 0);
  for (const auto& id : ids) first.event(id);
  first.store(inbox.connection());

  const auto a = inbox.connect();
  const auto b = inbox.connect();
  Batch on_audit{inbox};
  on_audit.at(audit, 0);
  Batch on_mirror{inbox};
  on_mirror.at(mirror, 0);
  for (const auto& id : ids) on_audit.event(id);
  for (const auto& id : ids) on_mirror.event(id);
  on_audit.deliver_to(handler);
  on_mirror.deliver_to(handler);
  // Keeps the first transaction open, so that the second cannot see its rows.
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin; lock table inbox.delivery in exclusive mode");
  std::thread one{[&] { on_audit.store(*a); }};
  std::thread two{[&] { on_mirror.store(*b); }};
  wait_until("both wait", [&] {
    return inbox.database().number(
               "select count(*) from pg_stat_activity where application_name like 'inboxd%' and "
               "wait_event_type = 'Lock' and query like '%' || $1 || '%'",
               {inbox.database().schema()}) == 2;
  });
  holder.run("commit");
  one.join();
  two.join();

  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 20);
}

TEST_CASE("two instances that store the same ids in opposite orders do not deadlock, and store each once") {
  Inbox inbox;
  constexpr int rounds = 20;
  constexpr int size = 200;
  const auto left = inbox.add_shard("orders", 0);
  const auto right = inbox.add_shard("orders", 1);
  std::vector<base::Uuid> ids;
  for (int i = 0; i < rounds * size; ++i) ids.push_back(base::random_uuid());

  const auto prepare = [&](std::int32_t shard, bool backwards) {
    std::vector<std::unique_ptr<Batch>> out;
    for (int round = 0; round < rounds; ++round) {
      out.push_back(std::make_unique<Batch>(inbox));
      out.back()->at(shard, round * size);
      for (int i = 0; i < size; ++i) {
        out.back()->event(ids[static_cast<std::size_t>(round * size + (backwards ? size - 1 - i : i))]);
      }
    }
    return out;
  };
  const auto forwards = prepare(left, false);
  const auto backwards = prepare(right, true);
  const auto a = inbox.connect();
  const auto b = inbox.connect();
  std::int64_t stored_by_a = 0;
  std::int64_t stored_by_b = 0;
  std::thread one{[&] {  // throws on a deadlock
    for (const auto& batch : forwards) stored_by_a += batch->store(*a).stored;
  }};
  std::thread two{[&] {
    for (const auto& batch : backwards) stored_by_b += batch->store(*b).stored;
  }};
  one.join();
  two.join();

  CHECK(stored_by_a + stored_by_b == rounds * size);
  CHECK(inbox.database().number("select count(*) from inbox.event") == rounds * size);
  CHECK(inbox.database().number("select count(distinct event_id) from inbox.event") == rounds * size);
}
