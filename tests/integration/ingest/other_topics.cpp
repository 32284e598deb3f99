// An id that arrives on another topic is delivered by its earlier deliveries: by type, by time, and around a
// retirement.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "integration/support/inbox.hpp"
#include "operations/dead_queries.hpp"
#include "operations/handler_queries.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::int64_t pending(Inbox& inbox, std::int32_t handler) {
  return inbox.database().number("select coalesce(sum(events), 0) from inbox.delivery where handler_id = $1::int",
                                 {std::to_string(handler)});
}

/// Handles all due events; returns their types.
std::vector<std::string> work_off(Inbox& inbox, std::int32_t handler) {
  std::vector<std::string> out;
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(claimed.empty.empty());
  for (const auto& run : claimed.runs) {
    for (const auto* event : run.events) out.emplace_back(event->event_type);
    CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(run)}).empty());
  }
  return out;
}

/// A handler of orders that was retired and restored, and now also subscribes to audit.
struct RestoredHandler {
  RestoredHandler() {
    handler = inbox.add_handler("receipt", {"orders"});
    orders = inbox.add_shard("orders");
    audit = inbox.add_shard("audit");
  }

  void dead_letter() {
    for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
      inbox::Settlement settlement;
      settlement.key = run.key;
      settlement.whole = true;
      settlement.dead.push_back({0, id});
      CHECK(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
    }
    CHECK(dead_letters() == 1);
  }
  void retire() {
    const auto pending = operations::find_pending(inbox.connection(), "receipt", std::chrono::seconds{60});
    operations::retire_handler(inbox.connection(), pending.value(), "test");
  }
  void restore() {
    CHECK(operations::restore_handler(inbox.connection(), handler, "test"));
    REQUIRE(inbox.add_handler("receipt", {"orders", "audit"}) == handler);
  }
  std::int64_t dead_letters() { return inbox.database().number("select count(*) from inbox.dead_letter"); }
  void store_on_audit() {
    Batch batch{inbox};
    CHECK(batch.at(audit, 0).event(id).store(inbox.connection()).duplicates == 1);
  }

  Inbox inbox;
  const base::Uuid id = base::random_uuid();
  std::int32_t handler = 0, orders = 0, audit = 0;
};

}  // namespace

TEST_CASE(
    "an id that a restored handler dead-lettered before its retirement is not delivered again from another topic") {
  RestoredHandler test;
  Batch{test.inbox}.at(test.orders, 0).event(test.id).deliver_to(test.handler).store(test.inbox.connection());
  test.dead_letter();
  test.retire();
  test.restore();
  const bool is_replayed = GENERATE(true, false);
  if (is_replayed) {
    const auto dead_id = test.inbox.database().number("select dead_letter_id from inbox.dead_letter");
    CHECK(operations::replay_dead(test.inbox.connection(), {dead_id}, {"test", "all"}).letters == 1);
    CHECK(work_off(test.inbox, test.handler).size() == 1);
  }
  test.store_on_audit();
  CHECK(pending(test.inbox, test.handler) == 0);
  CHECK(test.dead_letters() == (is_replayed ? 0 : 1));
}

TEST_CASE("an id that was stored while its handler was retired is not delivered to it from another topic either") {
  RestoredHandler test;
  test.retire();
  Batch{test.inbox}.at(test.orders, 0).event(test.id).store(test.inbox.connection());
  test.restore();
  test.store_on_audit();
  CHECK(pending(test.inbox, test.handler) == 0);
}

TEST_CASE("an id that arrives on another topic as another type is delivered once to a handler of either type") {
  Inbox inbox;
  const auto paid = inbox.add_handler("paid", {"orders", "audit"}, {"Paid"});
  const auto both = inbox.add_handler("both", {"orders", "audit"}, {"Placed", "Paid"});
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit"), mirror = inbox.add_shard("mirror");
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).event(id, "{}", "Placed").deliver_to(both).store(inbox.connection());
  Batch second{inbox};
  CHECK(second.at(audit, 0).event(id, "{}", "Paid").store(inbox.connection()).duplicates == 1);
  CHECK(pending(inbox, paid) == 1);
  CHECK(pending(inbox, both) == 1);

  const auto third_topic = inbox.add_handler("paid", {"orders", "audit", "mirror"}, {"Paid"});
  REQUIRE(third_topic == paid);
  Batch third{inbox};
  third.at(mirror, 0).event(id, "{}", "Paid").store(inbox.connection());
  CHECK(pending(inbox, paid) == 1);
  const auto late = inbox.add_handler("late", {"orders", "audit"}, {"Paid"}, Inbox::beginning());
  const auto none = inbox.add_handler("none", {"orders", "audit"}, {"Other"}, Inbox::beginning());
  const auto of_mirror = inbox.add_handler("of-mirror", {"mirror"}, {"Placed"}, Inbox::beginning());
  backfill_all(inbox.connection());
  CHECK(pending(inbox, late) == 1);
  CHECK(pending(inbox, none) == 0);
  CHECK(pending(inbox, of_mirror) == 0);
}

TEST_CASE(
    "an id that arrives on two topics in one batch as two types is delivered once to a handler of the second type") {
  Inbox inbox;
  const auto paid = inbox.add_handler("paid", {"orders", "audit"}, {"Paid"});
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  const bool is_orders_first = orders < audit;
  Batch batch{inbox};
  batch.at(std::min(orders, audit), 0).event(id, "{}", "Placed").at(std::max(orders, audit), 0).event(id, "{}", "Paid");
  CHECK(batch.store(inbox.connection()).stored == 1);
  INFO((is_orders_first ? "orders first" : "audit first"));
  CHECK(work_off(inbox, paid) == std::vector<std::string>{"Placed"});
}

TEST_CASE("a handler's change of topics has an exact moment, which counts even if the event's day is gone") {
  Inbox inbox;
  inbox.add_handler("moved", {"refunds"});
  const auto moved = inbox.add_handler("moved", {"orders"});
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  Batch{inbox}.at(orders, 0).event(id).deliver_to(moved).store(inbox.connection());
  CHECK(work_off(inbox, moved).size() == 1);
  inbox.add_handler("moved", {"audit"});
  inbox.database().run("delete from inbox.event");
  Batch{inbox}.at(audit, 0).event(id).store(inbox.connection());
  CHECK(pending(inbox, moved) == 0);
}

TEST_CASE("a back-fill uses the handler's first subscription, even if the subscription changes meanwhile") {
  Inbox inbox;
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit");
  const auto placed = base::random_uuid(), paid = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).event(placed, "{}", "Placed").event(paid, "{}", "Paid").store(inbox.connection());
  const bool is_widened = GENERATE(true, false);
  const std::vector<std::string> narrow{"Placed"}, wide{"Placed", "Paid"};
  const auto late = inbox.add_handler("late", {"orders", "audit"}, is_widened ? narrow : wide, Inbox::beginning());
  inbox.add_handler("late", {"orders", "audit"}, is_widened ? wide : narrow);
  inbox.add_handler("late", {"orders", "audit"}, {"Other"});
  inbox.add_handler("late", {"orders", "audit"}, is_widened ? wide : narrow);
  SECTION("and no event is delivered twice") {
    Batch second{inbox};
    second.at(audit, 0).event(placed, "{}", "Placed").event(paid, "{}", "Paid").store(inbox.connection());
    backfill_all(inbox.connection());
    CHECK(pending(inbox, late) == 2);  // the second topic delivers the others
  }
  SECTION("if the id arrives on no other topic") {
    backfill_all(inbox.connection());
    CHECK(pending(inbox, late) == (is_widened ? 1 : 2));
  }
}

TEST_CASE("an event that was restored on another day keeps its type") {
  Inbox inbox;
  const auto paid = inbox.add_handler("paid", {"orders", "audit"}, {"Paid"});
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  Batch{inbox}.at(orders, 0).event(id, "{}", "Placed").store(inbox.connection());
  inbox.database().run("update inbox.event set received_at = received_at + interval '1 second'");
  Batch{inbox}.at(audit, 0).event(id, "{}", "Paid").store(inbox.connection());
  CHECK(pending(inbox, paid) == 1);
}
