#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <set>
#include <thread>

#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a new or changed handler raises the routing version; an unchanged handler does not") {
  Inbox inbox;
  const auto before = inbox.routing_version();
  auto handler = handler_named("receipt");
  inbox::register_handlers(inbox.connection(), {handler});
  const auto added = inbox.routing_version();
  CHECK(added > before);
  inbox::register_handlers(inbox.connection(), {handler});
  CHECK(inbox.routing_version() == added);
  handler.topics = {"orders", "pay*"};
  handler.types = {"Order, \"Placed\""};
  inbox::register_handlers(inbox.connection(), {handler});
  CHECK(inbox.routing_version() > added);
  const auto routing = inbox::read_routing(inbox.connection());
  REQUIRE(routing.handlers.size() == 1);
  CHECK(routing.handlers[0].topics == handler.topics);
  CHECK(routing.handlers[0].types == handler.types);
}

TEST_CASE("a configuration adds and changes handlers and never removes any") {
  Inbox inbox;
  inbox::register_handlers(inbox.connection(), {handler_named("one"), handler_named("two")});
  inbox::register_handlers(inbox.connection(), {handler_named("three")});
  CHECK(inbox::read_routing(inbox.connection()).handlers.size() == 3);
}

TEST_CASE("a handler renamed with an alias keeps its id and its deliveries") {
  Inbox inbox;
  const auto id = inbox.add_handler("mail-receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(5).deliver_to(id);
  batch.store(inbox.connection());
  auto renamed = handler_named("send-receipt");
  renamed.aliases = {"mail-receipt"};
  inbox::register_handlers(inbox.connection(), {renamed});
  CHECK(inbox.database().text("select name || ' ' || handler_id from inbox.handler") ==
        "send-receipt " + std::to_string(id));
  CHECK(inbox.database().text("select handler || ' ' || due from inbox.backlog") == "send-receipt 5");
}

TEST_CASE("no configuration that names a retired handler changes it, and its name stays taken") {
  Inbox inbox;
  auto& database = inbox.database();
  auto retired = handler_named("receipt");
  retired.aliases = {"old-receipt"};
  retired.topics = {"orders"};
  const auto retired_id = inbox::register_handlers(inbox.connection(), {retired}).at(0).handler_id;
  const auto billing_id = inbox.add_handler("billing");
  database.run("update inbox.handler set retired_at = now() where name = 'receipt'");
  const auto version = inbox.routing_version();
  config::Handler configured;
  SECTION("by its name") { configured = handler_named("receipt"); }
  SECTION("by a former name") { configured = handler_named("old-receipt"); }
  SECTION("under a new name, with its own as an alias") {
    configured = handler_named("send-receipt");
    configured.aliases = {"receipt"};
  }
  SECTION("by its name, which another handler is to get") {
    configured = handler_named("receipt");
    configured.aliases = {"billing"};
  }
  configured.start = Inbox::beginning();
  CHECK(inbox::find_retired(inbox.connection(), {handler_named("new"), configured}) ==
        std::map<std::size_t, std::string>{{1, "receipt"}});
  const auto registered = inbox::register_handlers(inbox.connection(), {configured}).at(0);
  CHECK(registered.is_retired);
  CHECK(registered.handler_id == retired_id);
  CHECK(registered.name == "receipt");
  CHECK(inbox.routing_version() == version);
  CHECK(database.text("select name || ' ' || topics::text from inbox.handler where retired_at is not null") ==
        "receipt {orders}");
  CHECK(database.number("select count(*) from inbox.backfill") == 0);
  CHECK(inbox::read_routing(inbox.connection()).handlers.at(0).handler_id == billing_id);
  // An unused name is a new handler.
  CHECK(inbox::register_handlers(inbox.connection(), {handler_named("receipt-2")}).at(0).is_new);
}

TEST_CASE(
    "during a rolling rename, the old configuration finds the handler under its new name and does not change it") {
  Inbox inbox;
  auto old_one = handler_named("mail-receipt");
  old_one.topics = {"orders"};
  auto new_one = handler_named("send-receipt");
  new_one.aliases = {"mail-receipt"};
  new_one.topics = {"orders", "refunds"};
  const auto id = inbox::register_handlers(inbox.connection(), {old_one}).at(0).handler_id;
  const auto renamed = inbox::register_handlers(inbox.connection(), {new_one}).at(0);
  CHECK(renamed.handler_id == id);
  CHECK(renamed.change ==
        "name: mail-receipt -> send-receipt; aliases: none -> mail-receipt; topics: orders -> orders, refunds");
  const auto version = inbox.routing_version();

  const auto back = inbox::register_handlers(inbox.connection(), {old_one}).at(0);  // an old instance restarts
  CHECK(back.handler_id == id);
  CHECK(back.name == "send-receipt");
  CHECK(back.has_former_name);
  CHECK(back.change.empty());
  CHECK(inbox.routing_version() == version);
  CHECK(inbox.database().text("select string_agg(name || ' ' || aliases::text || ' ' || topics::text, ', ') from "
                              "inbox.handler") == "send-receipt {mail-receipt} {orders,refunds}");
  const auto shard = inbox.add_shard("refunds");
  Batch batch{inbox};
  batch.at(shard, 0).events(3).deliver_to(id).store(inbox.connection());
  CHECK(inbox::count_pending(inbox.connection(), {"mail-receipt"}) == 3);

  // A configuration with both names means two handlers.
  const auto both = inbox::register_handlers(inbox.connection(), {old_one, new_one});
  CHECK(both.at(0).is_new);
  CHECK(both.at(0).handler_id != id);
  CHECK(both.at(1).handler_id == id);
}

TEST_CASE("an alias clashes with a live handler of that name, unless this is its rename") {
  Inbox inbox;
  auto configured = handler_named("send-receipt");
  configured.aliases = {"mail-receipt"};
  const auto clashes = [&] {
    const auto found = inbox::find_alias_clash(inbox.connection(), {handler_named("other"), configured});
    if (found) CHECK(found->message.starts_with("handler send-receipt: its alias mail-receipt is another handler"));
    return found.has_value();
  };
  CHECK_FALSE(clashes());
  inbox.add_handler("mail-receipt");
  CHECK_FALSE(clashes());  // a rename
  inbox.add_handler("send-receipt");
  CHECK(clashes());
  inbox.database().run("update inbox.handler set retired_at = now() where name = 'mail-receipt'");
  CHECK_FALSE(clashes());
}

TEST_CASE("adding or changing a handler is audited, with the actor and the former values") {
  Inbox inbox;
  auto handler = handler_named("receipt");
  handler.topics = {"orders"};
  inbox::register_handlers(inbox.connection(), {handler}, "daemon on pod-1");
  inbox::register_handlers(inbox.connection(), {handler}, "daemon on pod-1");
  handler.topics = {"orders", "refunds"};
  handler.types = {"Placed"};
  const auto changed = inbox::register_handlers(inbox.connection(), {handler}, "daemon on pod-2").at(0);
  CHECK(changed.change == "topics: orders -> orders, refunds; types: all -> Placed");
  CHECK(inbox.database().text("select string_agg(actor || ' ' || operation || ' ' || target, ', ' order by audit_id) "
                              "from inbox.audit") ==
        "daemon on pod-1 handlers add receipt, daemon on pod-2 handlers change receipt");
  CHECK(inbox.database().text("select (detail -> 'old' ->> 'topics') || ' ' || (detail -> 'new' ->> 'topics') from "
                              "inbox.audit where operation = 'handlers change'") ==
        R"(["orders"] ["orders", "refunds"])");
}

TEST_CASE("a batch routed under an old version is refused and writes nothing, so a rolling deploy loses no event") {
  Inbox inbox;
  const auto old_handler = inbox.add_handler("old");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(10).deliver_to(old_handler);
  const auto new_handler = inbox.add_handler("new");  // from the instance that was deployed first

  const auto refused = batch.store(inbox.connection());
  CHECK(refused.routing_is_stale);
  CHECK(inbox.position("orders") == 0);
  CHECK(inbox.database().number("select count(*) from inbox.ledger") == 0);

  batch.get().routing_version = inbox.routing_version();
  batch.deliver_to(new_handler);
  CHECK(batch.store(inbox.connection()).stored == 10);
  CHECK(inbox.database().text("select string_agg(handler || ' ' || due, ', ' order by handler) from inbox.backlog") ==
        "new 10, old 10");
}

TEST_CASE("a handler added during ingest gets every event once, from its back-fill or from ingest") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto writer = inbox.connect();
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> stored{0};
  std::thread storing{[&] {
    auto routing = inbox::read_routing(*writer);
    std::int64_t offset = 0;
    while (!stop) {
      inbox::IngestBatch batch;
      batch.owner = base::random_uuid();
      batch.fence = 1;
      batch.routing_version = routing.version;
      batch.steps = {{shard, 0, offset, offset + 5, 0}};
      for (int i = 0; i < 5; ++i) {
        event::Event event;
        event.shard_id = shard;
        event.offset = offset + i;
        event.event_id = base::random_uuid();
        event.event_type = "Happened";
        batch.events.push_back(event);
      }
      for (const auto& handler : routing.handlers) {
        batch.runs.push_back({handler.handler_id, shard, event::OffsetSet{{offset, offset + 5}}, milliseconds{0}});
      }
      const auto result = inbox::ingest(*writer, batch);
      if (result.routing_is_stale) {
        routing = inbox::read_routing(*writer);
        continue;
      }
      offset += 5;
      stored = offset;
    }
  }};
  for (int i = 0; i < 5; ++i) {
    wait_until("some more is stored", [&, seen = stored.load()] { return stored > seen + 100; });
    inbox.add_handler("handler-" + std::to_string(i), {}, {}, Inbox::beginning());
  }
  wait_until("some more is stored", [&, seen = stored.load()] { return stored > seen + 100; });
  stop = true;
  storing.join();
  backfill_all(inbox.connection(), 64);

  const std::string total = std::to_string(stored.load());
  CHECK(inbox.database().number("select count(*) from inbox.backlog where due = " + total) == 5);
  CHECK(inbox.database().number("select count(*) from (select handler_id, inbox.count_of(range_agg(r)) as n from "
                                "inbox.delivery, unnest(pending) r group by handler_id) x where n = " +
                                total) == 5);
}

TEST_CASE("a new handler is back-filled from the beginning in steps, with the events of its subscription only") {
  Inbox inbox;
  const auto orders = inbox.add_shard("orders", 0);
  const auto more = inbox.add_shard("orders", 1, 500);
  const auto other = inbox.add_shard("payments");
  Batch batch{inbox};
  batch.at(orders, 0);
  for (int i = 0; i < 50; ++i) batch.events(1, "{}", "Placed").events(1, "{}", "Shipped");
  batch.at(more, 500).events(30, "{}", "Placed");
  batch.at(other, 0).events(20, "{}", "Placed");
  batch.store(inbox.connection());

  const auto handler = inbox.add_handler("late", {"orders"}, {"Pla*"}, Inbox::beginning());
  CHECK(inbox.pending_events() > 0);
  CHECK(backfill_all(inbox.connection(), 16) > 7);
  CHECK(inbox.database().number("select due from inbox.backlog where handler = 'late'") == 80);
  CHECK(inbox.database().number("select count(*) from inbox.backfill") == 0);
  CHECK(inbox.database().number("select max(events) from inbox.delivery") <= 16);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(events_in(claimed.runs) == 80);
  for (const auto& run : claimed.runs) {
    for (const auto* event : run.events) CHECK(event->event_type == "Placed");
  }
}

TEST_CASE("a new handler gets no stored events with start: now, and events since a time with start: TIME") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch early{inbox};
  early.at(shard, 0).events(10);
  early.store(inbox.connection());
  const auto between = inbox.database().number("select (extract(epoch from clock_timestamp()) * 1000000)::bigint");
  Batch late{inbox};
  late.at(shard, 10).events(7);
  late.store(inbox.connection());

  inbox.add_handler("from-now");
  inbox.add_handler("since", {}, {}, {config::StartAt::Kind::time, between});
  backfill_all(inbox.connection(), 100);
  CHECK(inbox.database().text("select string_agg(handler || ' ' || due, ', ' order by handler) from inbox.backlog") ==
        "from-now 0, since 7");
}

TEST_CASE("a back-fill includes events of its topic that were first stored from another, once") {
  Inbox inbox;
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto before = base::random_uuid(), other_type = base::random_uuid(), between = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).events(20).event(before).event(other_type, "{}", "Other").events(20).event(between).events(5);
  first.store(inbox.connection());
  Batch second{inbox};
  second.at(audit, 0).event(before).event(other_type, "{}", "Other");
  CHECK(second.store(inbox.connection()).duplicates == 2);

  const auto handler = inbox.add_handler("late", {"audit", "mirror"}, {"Happened"}, Inbox::beginning());
  // From now on ingest delivers, also ahead of the back-fill, which must not deliver again.
  Batch third{inbox};
  third.at(audit, 2).event(between).event(before);
  third.store(inbox.connection());
  const auto mirror = inbox.add_shard("mirror");
  Batch fourth{inbox};
  fourth.at(mirror, 0).event(before).event(between);
  fourth.store(inbox.connection());
  inbox.database().run("update inbox.backfill set end_offset = 47");  // as if the topic had held more records
  backfill_all(inbox.connection(), 7);

  std::multiset<std::string> given;
  for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
    for (const auto* event : run.events) given.insert(event->event_id.text());
  }
  CHECK(given == std::multiset<std::string>{before.text(), between.text()});
}

TEST_CASE("a start time applies to the arrival on the handler's own topic, whenever the event was stored") {
  Inbox inbox;
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto early = base::random_uuid(), late = base::random_uuid();
  Batch first{inbox};
  first.at(orders, 0).event(early).event(late);
  first.store(inbox.connection());
  Batch second{inbox};
  second.at(audit, 0).event(early);
  second.store(inbox.connection());
  const auto between = inbox.database().number("select (extract(epoch from clock_timestamp()) * 1000000)::bigint");
  Batch third{inbox};
  third.at(audit, 1).event(late);
  third.store(inbox.connection());

  const auto handler = inbox.add_handler("since", {"audit"}, {}, {config::StartAt::Kind::time, between});
  backfill_all(inbox.connection(), 100);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  REQUIRE(events_in(claimed.runs) == 1);
  CHECK(claimed.runs[0].events[0]->event_id == late);
}

TEST_CASE("a back-fill over wide gaps creates runs of a bounded span, so that views find their outcomes") {
  Inbox inbox;
  const auto shard = inbox.add_shard("compacted");
  Batch batch{inbox};
  batch.at(shard, 0);
  for (int i = 0; i < 20; ++i) batch.events(1).skip(4000);
  batch.store(inbox.connection());
  const auto handler = inbox.add_handler("late", {}, {}, Inbox::beginning());
  backfill_all(inbox.connection(), 1000);

  CHECK(inbox.database().number("select max(upper(pending) - lower(pending)) from inbox.delivery") <= 10'000);
  const auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
  CHECK(events_in(claimed.runs) == 20);
  for (const auto& run : claimed.runs) inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
  CHECK(inbox.database().number("select count(*) from inbox.deliveries where state = 'done'") == 20);
}

TEST_CASE("names and prefixes match the same in C++ and in SQL") {
  Inbox inbox;
  for (const std::string pattern : {"orders", "order*", "*", "ord_rs", "orders.*", "%", ""}) {
    for (const std::string name : {"orders", "order", "orders.eu", "ordXrs", "", "*"}) {
      const bool in_sql = inbox.database().text("select inbox.matches($1, array[$2])", {name, pattern}) == "t";
      INFO(name << " against " << pattern);
      CHECK(inbox::matches(name, {pattern}) == in_sql);
    }
  }
  CHECK(inbox::matches("anything", {}));
}
