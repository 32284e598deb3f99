#include <catch2/catch_test_macros.hpp>

#include "integration/support/generations.hpp"
#include "integration/support/inbox.hpp"

using namespace inboxd;
using namespace inboxd::support;

TEST_CASE("a repeated batch is refused by its position and changes nothing") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(10).reject("no_id").deliver_to(handler);
  batch.store(inbox.connection());

  const auto again = batch.store(inbox.connection());

  CHECK(again.mismatched == std::vector<std::int32_t>{shard});
  CHECK(again.stored == 0);
  CHECK(inbox.position("orders") == 11);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 10);
  CHECK(inbox.database().number("select count(*) from inbox.delivery") == 1);
  CHECK(inbox.database().number("select count(*) from inbox.quarantine") == 1);
}

// fault: purge, then late redelivery
TEST_CASE("a batch that comes again after its events and ids were purged is refused by its position") {
  using namespace std::chrono_literals;
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(5).deliver_to(handler).store(inbox.connection());
  inbox::settle(inbox.connection(), inbox.owner,
                {all_done(claim_due(inbox.connection(), handler, inbox.owner).runs.at(0))});
  make_old_day(inbox);
  REQUIRE(inbox::drop_partition(inbox.connection(), "event", 24h).has_value());
  REQUIRE(freeze(inbox));
  REQUIRE(drop_old(inbox).generation.has_value());
  batch.get().routing_version = inbox.routing_version();

  const auto again = batch.store(inbox.connection());
  CHECK(again.mismatched.size() == 1);
  CHECK(again.stored == 0);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 0);
  CHECK(inbox.pending_events() == 0);
}

// fault: process stopped (SIGSTOP) for minutes
TEST_CASE("a zombie's batch at an old offset is refused, whatever new events it holds") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch zombie{inbox, base::random_uuid()};
  zombie.at(shard, 0).events(3);
  Batch heir{inbox};
  heir.at(shard, 0).events(5);
  heir.store(inbox.connection());

  const auto late = zombie.store(*inbox.connect());

  CHECK(late.mismatched == std::vector<std::int32_t>{shard});
  CHECK(inbox.position("orders") == 5);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 5);
}

TEST_CASE("a batch that begins below or above the position is refused, although no batch began there before") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch{inbox}.at(shard, 0).events(5).store(inbox.connection());
  for (const auto expected : {3, 7}) {
    const auto result = Batch{inbox}.at(shard, expected).events(4).store(inbox.connection());
    CHECK(result.mismatched == std::vector<std::int32_t>{shard});
    CHECK(result.stored == 0);
  }
  CHECK(inbox.position("orders") == 5);
}

TEST_CASE("a batch of an old epoch is refused although its offset matches the newest row") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(5);
  first.store(inbox.connection());
  inbox.database().run("insert into inbox.position values ($1, 1, -1, 5, 1)", {std::to_string(shard)});

  Batch old{inbox};
  old.at(shard, 5, 0).events(1);
  CHECK(old.store(inbox.connection()).mismatched.size() == 1);
  Batch current{inbox};
  current.at(shard, 5, 1).events(1);
  CHECK(current.store(inbox.connection()).mismatched.empty());
  CHECK(inbox.position("orders") == 6);
}

TEST_CASE("a shard whose position does not match leaves the batch; the others are stored") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto good = inbox.add_shard("orders", 0);
  const auto moved = inbox.add_shard("orders", 1);
  const auto also_good = inbox.add_shard("orders", 2);
  Batch elsewhere{inbox};
  elsewhere.at(moved, 0).events(7);
  elsewhere.store(inbox.connection());

  Batch batch{inbox};
  batch.at(good, 0).events(2).deliver_to(handler);
  batch.at(moved, 0).events(2).reject("no_id").deliver_to(handler);
  batch.at(also_good, 0).events(2).deliver_to(handler);
  const auto result = batch.store(inbox.connection());

  CHECK(result.mismatched == std::vector<std::int32_t>{moved});
  CHECK(result.stored == 4);
  REQUIRE(result.born.size() == 3);
  CHECK(result.born[0].delivery_id != 0);
  CHECK(result.born[1].delivery_id == 0);
  CHECK(result.born[2].delivery_id != 0);
  CHECK(inbox.position("orders", 0) == 2);
  CHECK(inbox.position("orders", 1) == 7);
  CHECK(inbox.position("orders", 2) == 2);
  CHECK(inbox.database().number("select count(*) from inbox.event where shard_id = $1", {std::to_string(moved)}) == 7);
  CHECK(inbox.database().number("select count(*) from inbox.quarantine") == 0);
}

TEST_CASE("a shard leaves the batch also if other shards of it hold duplicates") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto good = inbox.add_shard("orders", 0);
  const auto moved = inbox.add_shard("orders", 1);
  Batch before{inbox};
  before.at(good, 0).events(3);
  before.at(moved, 0).events(3);
  before.store(inbox.connection());

  Batch batch{inbox};
  batch.at(good, 3).event(before.events()[0].event_id).events(2).deliver_to(handler);
  batch.at(moved, 0).events(2).event(before.events()[1].event_id).deliver_to(handler);
  const auto result = batch.store(inbox.connection());

  CHECK(result.mismatched == std::vector<std::int32_t>{moved});
  CHECK(result.stored == 2);
  CHECK(result.duplicates == 1);
  CHECK(inbox.database().text("select pending from inbox.delivery") == "{[4,6)}");
  CHECK(inbox.database().number("select count(*) from inbox.event") == 8);
}

TEST_CASE("two instances that resolve a first position a moment apart use the first instance's") {
  Inbox inbox;
  const auto other = inbox.connect();
  inbox::write_first_positions(inbox.connection(), {{"orders", "x", 0, 50}, {"orders", "x", 1, 10}});
  inbox::write_first_positions(*other, {{"orders", "x", 0, 60}, {"orders", "x", 1, 20}, {"orders", "x", 2, 30}});

  CHECK(inbox.position("orders", 0) == 50);
  CHECK(inbox.position("orders", 1) == 10);
  CHECK(inbox.position("orders", 2) == 30);
  CHECK(inbox.database().number("select count(*) from inbox.shard") == 3);
  CHECK(inbox::known_topics(*other) == std::vector<std::string>{"orders"});
  CHECK_FALSE(inbox::find_position(*other, "orders", 3).has_value());
}

TEST_CASE("a halted shard keeps its first reason; a shard with a gap waits for an operator") {
  Inbox inbox;
  const auto passing = inbox.add_shard("orders", 0);
  const auto lost = inbox.add_shard("orders", 1);
  inbox.halt(passing, "not authorised", std::nullopt);
  inbox.halt(passing, "something later", std::nullopt);
  inbox.halt(lost, "records are gone", event::OffsetRange{5, 9});

  CHECK(inbox::find_position(inbox.connection(), "orders", 0)->halted_reason == "not authorised");
  CHECK(inbox.database().text("select gap from inbox.shard where partition = 1") == "[5,9)");
  inbox::resume_shard(inbox.connection(), passing, "something later");  // it is halted for another reason
  CHECK(inbox::find_position(inbox.connection(), "orders", 0)->halted_reason == "not authorised");
  inbox::resume_shard(inbox.connection(), passing, "not authorised");
  inbox::resume_shard(inbox.connection(), lost, "records are gone");
  CHECK_FALSE(inbox::find_position(inbox.connection(), "orders", 0)->halted_reason.has_value());
  CHECK(inbox::find_position(inbox.connection(), "orders", 1)->halted_reason == "records are gone");
}

TEST_CASE("an instance at an outdated position halts nothing") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto before = *inbox::find_position(inbox.connection(), "orders", 0);
  Batch batch{inbox};
  batch.at(shard, 0).events(3).store(inbox.connection());  // by another instance, the partition's new owner
  inbox::halt_shard(inbox.connection(), before, "records are gone", event::OffsetRange{0, 9}, inbox::Halt::replace);
  CHECK_FALSE(inbox::find_position(inbox.connection(), "orders", 0)->halted_reason.has_value());
  const auto now = *inbox::find_position(inbox.connection(), "orders", 0);
  inbox::halt_shard(inbox.connection(), now, "records are gone", event::OffsetRange{3, 9});
  CHECK(inbox::find_position(inbox.connection(), "orders", 0)->has_gap);
}

TEST_CASE("only the first instance to start a topic writes its first positions") {
  Inbox inbox;
  CHECK_FALSE(inbox::started_at(inbox.connection(), "^orders"));
  inbox::write_first_positions(inbox.connection(), {{"orders.eu", "x", 0, 50}}, "^orders");
  CHECK(inbox::started_at(inbox.connection(), "^orders"));
  inbox::write_first_positions(*inbox.connect(), {{"orders.eu", "x", 0, 60}, {"orders.us", "x", 0, 70}}, "^orders");
  CHECK(inbox.position("orders.eu") == 50);
  CHECK_FALSE(inbox::find_position(inbox.connection(), "orders.us", 0).has_value());
  inbox::write_first_positions(inbox.connection(), {{"orders.us", "x", 0, 3}});
  CHECK(inbox.position("orders.us") == 3);
}

TEST_CASE("a shard created after the database lost commits has a new id: a late batch stores nothing there") {
  Inbox inbox;
  const auto orders = inbox.add_shard("orders");
  // As after a restore to before the first start, sequences included.
  inbox.database().run("truncate inbox.shard, inbox.position restart identity cascade");
  const auto payments = inbox.add_shard("payments");
  CHECK(payments != orders);
  Batch late{inbox};
  late.at(orders, 0).events(3);
  CHECK(late.store(inbox.connection()).mismatched == std::vector<std::int32_t>{orders});
  CHECK(inbox.database().number("select count(*) from inbox.event") == 0);
  CHECK(inbox.position("payments") == 0);
}

TEST_CASE("positions are read for existing shards only, with topic and partition") {
  Inbox inbox;
  const auto orders = inbox.add_shard("orders", 3, 40);
  const auto read = [&](std::vector<std::int32_t> ids) { return inbox::read_positions(inbox.connection(), ids); };
  Batch batch{inbox};
  batch.at(orders, 40).events(2);
  batch.store(inbox.connection());
  const auto places = read({orders, orders == 1 ? 2 : 1});
  REQUIRE(places);
  REQUIRE(places->size() == 1);
  CHECK(places->at(0).shard_id == orders);
  CHECK(places->at(0).topic == "orders");
  CHECK(places->at(0).partition == 3);
  CHECK(places->at(0).epoch == 0);
  CHECK(places->at(0).next_offset == 42);
  REQUIRE(read({}));
  CHECK(read({})->empty());
}
