// An id that comes on another topic, judged by what its handlers were owed of it before: by type, by time, and in a
// former life.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "inbox/operations_dead.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

std::int64_t owed(Inbox& inbox, std::int32_t handler) {
  return inbox.database().number("select coalesce(sum(events), 0) from inbox.delivery where handler_id = $1::int",
                                 {std::to_string(handler)});
}

/// All that is due for it, each event with its type, is done.
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

/// A handler of orders gave up on an event, was retired, and is there again for audit.
struct FormerLife {
  FormerLife() {
    handler = inbox.add_handler("receipt", {"orders"});
    orders = inbox.add_shard("orders");
    audit = inbox.add_shard("audit");
    Batch{inbox}.at(orders, 0).event(id).owe(handler).store(inbox.connection());
    bury();
    inbox.database().run("update inbox.handler set retired_at = now()");
    REQUIRE(inbox.add_handler("receipt", {"audit"}) == handler);
  }

  void bury() {
    for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
      inbox::Settlement settlement;
      settlement.key = run.key;
      settlement.whole = true;
      settlement.dead.push_back({0, id});
      CHECK(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
    }
    CHECK(letters() == 1);
  }
  std::int64_t letters() { return inbox.database().number("select count(*) from inbox.dead_letter"); }
  void bring(std::int64_t offset) {
    Batch batch{inbox};
    CHECK(batch.at(audit, offset).event(id).store(inbox.connection()).duplicates == 1);
  }
  void replay() {
    const auto letter = inbox.database().number("select dead_letter_id from inbox.dead_letter");
    CHECK(inbox::replay_dead(inbox.connection(), {letter}, {"test", "all"}).letters == 1);
  }

  Inbox inbox;
  const base::Uuid id = base::random_uuid();
  std::int32_t handler = 0, orders = 0, audit = 0;
};

}  // namespace

TEST_CASE("an id that a handler of a former life gave up on, and that its new topic brings, answers the dead letter") {
  FormerLife test;
  test.bring(0);
  CHECK(test.letters() == 0);
  CHECK(work_off(test.inbox, test.handler).size() == 1);
  test.bring(1);
  CHECK(owed(test.inbox, test.handler) == 0);
}

TEST_CASE("an id whose dead letter of a former life was replayed is not owed again by a new topic") {
  FormerLife test;
  test.replay();
  const bool is_done = GENERATE(true, false);
  if (is_done) CHECK(work_off(test.inbox, test.handler).size() == 1);
  if (!is_done) test.bury();  // a letter of this life
  test.bring(0);
  CHECK(owed(test.inbox, test.handler) == 0);
  CHECK(test.letters() == (is_done ? 0 : 1));

  SECTION("until it has a new life again") {
    test.inbox.database().run("update inbox.handler set retired_at = now()");
    REQUIRE(test.inbox.add_handler("receipt", {"mirror"}) == test.handler);
    Batch batch{test.inbox};
    batch.at(test.inbox.add_shard("mirror"), 0).event(test.id).store(test.inbox.connection());
    CHECK(owed(test.inbox, test.handler) == 1);
    CHECK(test.letters() == 0);
  }
  SECTION("until the ledger has forgotten it") {
    test.inbox.database().run("update inbox.ledger set received_at = '2020-01-01'");
    CHECK(inbox::trim_ledger(test.inbox.connection(), std::chrono::hours{24}, 100).rows == 1);
    CHECK(test.inbox.database().number("select count(*) from inbox.carried_over") == 0);
  }
}

TEST_CASE("an id that comes on another topic as another type is owed once to who is of any of the types") {
  Inbox inbox;
  const auto paid = inbox.add_handler("paid", {"orders", "audit"}, {"Paid"});
  const auto both = inbox.add_handler("both", {"orders", "audit"}, {"Placed", "Paid"});
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit"), mirror = inbox.add_shard("mirror");
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).event(id, "{}", "Placed").owe(both).store(inbox.connection());
  Batch second{inbox};
  CHECK(second.at(audit, 0).event(id, "{}", "Paid").store(inbox.connection()).duplicates == 1);
  CHECK(owed(inbox, paid) == 1);
  CHECK(owed(inbox, both) == 1);

  const auto third_topic = inbox.add_handler("paid", {"orders", "audit", "mirror"}, {"Paid"});
  REQUIRE(third_topic == paid);
  Batch third{inbox};
  third.at(mirror, 0).event(id, "{}", "Paid").store(inbox.connection());
  CHECK(owed(inbox, paid) == 1);
  const auto late = inbox.add_handler("late", {"orders", "audit"}, {"Paid"}, Inbox::beginning());
  const auto none = inbox.add_handler("none", {"orders", "audit"}, {"Other"}, Inbox::beginning());
  const auto of_mirror = inbox.add_handler("of-mirror", {"mirror"}, {"Placed"}, Inbox::beginning());
  backfill_all(inbox.connection());
  CHECK(owed(inbox, late) == 1);
  CHECK(owed(inbox, none) == 0);
  CHECK(owed(inbox, of_mirror) == 0);
}

TEST_CASE("an id that comes on two topics in one batch as two types is owed once to who is of the second") {
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

TEST_CASE("what a handler was owed before its topics changed is known to the moment, though the event's day is gone") {
  Inbox inbox;
  inbox.add_handler("moved", {"refunds"});
  const auto moved = inbox.add_handler("moved", {"orders"});
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  Batch{inbox}.at(orders, 0).event(id).owe(moved).store(inbox.connection());
  CHECK(work_off(inbox, moved).size() == 1);
  inbox.add_handler("moved", {"audit"});
  inbox.database().run("delete from inbox.event");
  Batch{inbox}.at(audit, 0).event(id).store(inbox.connection());
  CHECK(owed(inbox, moved) == 0);
}

TEST_CASE("history is owed by what the handler subscribed to when it was new, though it is changed meanwhile") {
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
  SECTION("and nothing comes twice") {
    Batch second{inbox};
    second.at(audit, 0).event(placed, "{}", "Placed").event(paid, "{}", "Paid").store(inbox.connection());
    backfill_all(inbox.connection());
    CHECK(owed(inbox, late) == 2);  // what was not owed as it came first is as it came on another topic
  }
  SECTION("where it comes nowhere else") {
    backfill_all(inbox.connection());
    CHECK(owed(inbox, late) == (is_widened ? 1 : 2));
  }
}

TEST_CASE("a replay of a former life's letter whose id the ledger has forgotten leaves no trace: it may come anew") {
  FormerLife test;
  test.inbox.database().run("delete from inbox.ledger");
  test.replay();
  CHECK(work_off(test.inbox, test.handler).size() == 1);
  Batch again{test.inbox};
  again.at(test.orders, 1).event(test.id).store(test.inbox.connection());
  test.bring(0);
  CHECK(owed(test.inbox, test.handler) == 1);
}

TEST_CASE("an event that was restored on another day is known by its own type still") {
  Inbox inbox;
  const auto paid = inbox.add_handler("paid", {"orders", "audit"}, {"Paid"});
  const auto orders = inbox.add_shard("orders"), audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  Batch{inbox}.at(orders, 0).event(id, "{}", "Placed").store(inbox.connection());
  inbox.database().run("update inbox.event set received_at = received_at + interval '1 second'");
  Batch{inbox}.at(audit, 0).event(id, "{}", "Paid").store(inbox.connection());
  CHECK(owed(inbox, paid) == 1);
}
