#include <catch2/catch_test_macros.hpp>
#include <thread>

#include "integration/support/generations.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("old positions are deleted in steps, never the first and the newest position") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  inbox.database().run("insert into inbox.position select $1::int, 0, i, i + 1, 1 from generate_series(0, 2999) i",
                       {std::to_string(shard)});
  std::int64_t trimmed = 0;
  while (const auto step = inbox::trim_positions(inbox.connection(), 500)) {
    CHECK(step <= 500);
    trimmed += step;
  }
  CHECK(trimmed == 1999);
  CHECK(inbox.database().number("select next_offset from inbox.position where first_offset = -1") == 0);
  CHECK(inbox.position("orders") == 3000);
}

TEST_CASE("ids that a partition set back could read again are kept, and absorb the records") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(5).store(inbox.connection());
  REQUIRE(freeze(inbox));
  inbox.database().run("insert into inbox.position values ($1::int, 1, -1, 2, 1)", {std::to_string(shard)});
  const auto kept = drop_old(inbox);
  CHECK_FALSE(kept.generation);
  CHECK(kept.pinned == 1);

  Batch again{inbox};
  again.at(shard, 2, 1);
  for (const int i : {2, 3, 4}) again.event(batch.events()[static_cast<std::size_t>(i)].event_id);
  const auto result = again.store(inbox.connection());
  CHECK(result.duplicates == 3);
  CHECK(result.stored == 0);
  CHECK(drop_old(inbox).generation == 1);
  CHECK(inbox.database().number("select count(*) from inbox.ledger") == 0);
}

TEST_CASE("ids of a generation that is frozen while their records are read again are kept, and absorb them") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(5).store(inbox.connection());
  inbox.database().run("insert into inbox.position values ($1::int, 1, -1, 2, 1)", {std::to_string(shard)});
  REQUIRE(freeze(inbox));
  CHECK(drop_old(inbox).pinned == 1);
  // Old positions are deleted; the generation before knows how far the ids go.
  inbox.database().run("delete from inbox.position where shard_id = $1::int and epoch = 0", {std::to_string(shard)});
  Batch another{inbox};
  another.at(inbox.add_shard("others"), 0).events(1).store(inbox.connection());
  REQUIRE(freeze(inbox));
  CHECK(drop_old(inbox).pinned == 2);
  CHECK(inbox.database().number("select tops[array_position(shards, $1::int)] from inbox.ledger_generation "
                                "where generation = 2",
                                {std::to_string(shard)}) == 5);

  // A topic that was created again is read by another shard.
  inbox.database().run("insert into inbox.shard (topic, partition, incarnation, ordinal) "
                       "select topic, partition, 'next', 1 from inbox.shard where shard_id = $1::int",
                       {std::to_string(shard)});
  CHECK(drop_old(inbox).generation == 1);
}

TEST_CASE("a generation is frozen once it has its number of ids, or is old, and never empty") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto is_frozen = [&](std::int64_t ids, std::optional<std::chrono::milliseconds> keep) {
    return inbox::freeze_generation(inbox.connection(), ids, keep);
  };
  inbox.database().run("update inbox.ledger_generation set began_at = now() - interval '23 hours'");
  CHECK_FALSE(is_frozen(0, 24h));  // it is empty
  Batch first{inbox};
  first.at(shard, 0).events(2000).store(inbox.connection());
  CHECK_FALSE(is_frozen(0, std::nullopt));  // for ever, and small
  CHECK_FALSE(is_frozen(0, 200h));
  CHECK_FALSE(is_frozen(1'000'000, std::nullopt));
  CHECK(is_frozen(1'000, std::nullopt));
  Batch second{inbox};
  second.at(shard, 2000).events(1).store(inbox.connection());
  CHECK_FALSE(is_frozen(0, 24h));
  inbox.database().run(
      "update inbox.ledger_generation set began_at = now() - interval '4 hours' where frozen_at is null");
  CHECK(is_frozen(0, 24h));
  CHECK(inbox.database().number("select count(*) from inbox.ledger_generation") == 3);
  CHECK(inbox.database().number("select generation from inbox.routing") == 3);
}

TEST_CASE("two instances that freeze a generation at the same time begin a single new one") {
  Inbox inbox;
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(5).store(inbox.connection());
  inbox.database().run("update inbox.ledger_generation set began_at = now() - interval '1 year'");
  const auto other = inbox.connect();
  bool beside = false;
  std::jthread thread{[&] { beside = inbox::freeze_generation(*other, 0, std::chrono::hours{24}); }};
  const bool here = inbox::freeze_generation(inbox.connection(), 0, std::chrono::hours{24});
  thread.join();
  CHECK(here != beside);
  CHECK(inbox.database().number("select count(*) from inbox.ledger_generation") == 2);
}

TEST_CASE("a generation that another instance drops at the same time is dropped once") {
  Inbox inbox;
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(5).store(inbox.connection());
  REQUIRE(freeze(inbox));
  make_generations_old(inbox);
  const auto other = inbox.connect();
  inbox::DroppedGeneration beside;
  std::jthread thread{[&] { beside = inbox::drop_generation(*other, std::chrono::hours{24}); }};
  const auto here = inbox::drop_generation(inbox.connection(), std::chrono::hours{24});
  thread.join();
  CHECK(here.generation.has_value() != beside.generation.has_value());
}

TEST_CASE("an id that the ledger has forgotten is a new event on each of its topics") {
  Inbox inbox;
  const auto of_orders = inbox.add_handler("of-orders", {"orders"});
  const auto of_audit = inbox.add_handler("of-audit", {"audit"});
  const auto orders = inbox.add_shard("orders");
  const auto audit = inbox.add_shard("audit");
  const auto id = base::random_uuid();
  for (const std::int64_t offset : {0, 1}) {
    Batch first{inbox};
    first.at(orders, offset).event(id).deliver_to(of_orders);
    first.store(inbox.connection());
    Batch second{inbox};
    second.at(audit, offset).event(id).deliver_to(of_audit);
    second.store(inbox.connection());
    REQUIRE(freeze(inbox));
    CHECK(drop_old(inbox).generation.has_value());
    CHECK(inbox.database().number("select count(*) from inbox.also_seen") == 0);
  }
  CHECK(inbox.database().text("select string_agg(handler || ' ' || due, ', ' order by handler) from inbox.backlog") ==
        "of-audit 2, of-orders 2");
}
