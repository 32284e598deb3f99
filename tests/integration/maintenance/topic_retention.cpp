#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "integration/support/inbox.hpp"
#include "maintenance/cleanup.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// An inbox with topics `orders`, kept for three days, and `audit`, kept as long as all events.
struct TwoTopics {
  TwoTopics() {
    config::Topic short_lived, other;
    short_lived.pattern = "^ord";
    short_lived.retention = 72h;
    other.name = "audit";
    settings.topics = {short_lived, other};
  }
  void trim() {
    maintenance::Cleanup cleanup{settings, inbox.connection(), turn, log};
    turn.begin(std::chrono::steady_clock::now() + 1min);
    cleanup.trim_events();
  }
  std::string left() {
    return inbox.database().text(
        "select coalesce(string_agg(topic || ' ' || offsets, ', ' order by topic), '') from (select topic, "
        "range_agg(int8range(\"offset\", \"offset\" + 1))::text as offsets from inbox.events group by topic) t");
  }

  Inbox inbox;
  config::Settings settings;
  const std::int32_t orders = inbox.add_shard("orders");
  const std::int32_t audit = inbox.add_shard("audit");

 private:
  base::Heartbeat heartbeat;
  base::StopSignal stop;
  maintenance::Turn turn{heartbeat, stop};
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
};

}  // namespace

TEST_CASE("events past their topic's retention are removed, except pending events; other topics keep theirs") {
  TwoTopics test;
  Inbox& inbox = test.inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch first{inbox};
  first.at(test.orders, 0).events(3).deliver_to(handler).events(9'000);
  first.store(inbox.connection());
  Batch second{inbox};
  second.at(test.audit, 0).events(4).store(inbox.connection());
  make_old_day(inbox);
  Batch recent{inbox};
  recent.at(test.orders, 9'003).events(2).store(inbox.connection());

  test.trim();
  CHECK(test.left() == "audit {[0,4)}, orders {[0,3),[9003,9005)}");
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(events_in(claimed.runs) == 3);
  inbox::Settlement settlement = all_done(claimed.runs[0]);
  settlement.done = {};
  for (const auto* event : claimed.runs[0].events) settlement.dead.push_back({event->offset, event->event_id});
  inbox::settle(inbox.connection(), inbox.owner, {settlement});
  test.trim();
  CHECK(test.left() == "audit {[0,4)}, orders {[9003,9005)}");
  CHECK(inbox.database().number("select count(*) from inbox.dead_letter") == 3);

  Batch again{inbox};
  again.at(test.orders, 9'005).event(first.events()[0].event_id);
  CHECK(again.store(inbox.connection()).duplicates == 1);  // the ledger still knows the id
}

TEST_CASE("events past their topic's retention stay until a back-fill has delivered them") {
  TwoTopics test;
  Inbox& inbox = test.inbox;
  Batch batch{inbox};
  batch.at(test.orders, 0).events(5).store(inbox.connection());
  make_old_day(inbox);
  const auto handler = inbox.add_handler("late", {"orders"}, {}, Inbox::beginning());
  test.trim();
  backfill_all(inbox.connection());
  test.trim();
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(events_in(claimed.runs) == 5);
  inbox::settle(inbox.connection(), inbox.owner, {all_done(claimed.runs[0])});
  test.trim();
  CHECK(test.left().empty());
}

TEST_CASE("an old event is not removed while it arrives on another topic, and reaches that topic's handlers") {
  TwoTopics test;
  Inbox& inbox = test.inbox;
  const auto handler = inbox.add_handler("of-audit", {"audit"});
  const auto id = base::random_uuid();
  Batch first{inbox};
  first.at(test.orders, 0).event(id, "ten euros").store(inbox.connection());
  make_old_day(inbox);
  Batch again{inbox};
  again.at(test.audit, 0).event(id, "ten euros").deliver_to(handler);
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run(
      "begin; insert into inbox.also_seen (event_id, topic, event_type, shard_id, \"offset\", routing_version) "
      "select event_id, 'audit', 'Happened', shard_id, \"offset\", 1 from inbox.ledger");
  const auto other = inbox.connect();
  std::thread storing{[&] { again.store(*other); }};
  wait_for_waiter(inbox);
  CHECK(failure_of([&] { test.trim(); }).fault == inbox::Fault::retry);
  holder.run("rollback");
  storing.join();

  test.trim();
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(events_in(claimed.runs) == 1);
  CHECK(claimed.empty.empty());
}
