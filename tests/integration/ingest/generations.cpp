// The ledger's generations: whatever is frozen, filtered, dropped or undone meanwhile, an id is stored once.
#include "inbox/generations.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <random>

#include "base/logger.hpp"
#include "base/stop_signal.hpp"
#include "inbox/handler_routing.hpp"
#include "inbox/local_events.hpp"
#include "inbox/received_events.hpp"
#include "integration/support/generations.hpp"
#include "integration/support/inbox.hpp"
#include "support/recording.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

inbox::IngestResult store_filtered(Inbox& inbox, const inbox::LedgerFilters& filters, Batch& batch) {
  const auto routing = inbox::read_routing(inbox.connection());
  batch.get().routing_version = routing.version;
  batch.get().suspects = filters.suspects(routing.frozen, batch.events());
  return batch.store(inbox.connection());
}

/// As maintenance makes it.
std::shared_ptr<inbox::IdFilter> filter_of(Inbox& inbox, const inbox::StoredGeneration& generation) {
  auto out = std::make_shared<inbox::IdFilter>(generation.frozen.filter_key, generation.blocks * 107);
  for (const auto& id : inbox::read_ids(inbox.connection(), generation.frozen.generation, 0, generation.blocks)) {
    out->add(id);
  }
  return out;
}

/// Events over HTTP for a local topic.
struct Posts {
  Posts() { inbox::declare_local(inbox.connection(), {{"signup", 1 << 20}}); }

  /// Returns the id of a stored event, whose digest is 1.
  base::Uuid store() {
    const auto position = inbox::local_positions(inbox.connection()).at(0);
    Batch batch{inbox};
    batch.at(position.shard_id, position.next_offset, position.epoch).events(1);
    batch.get().events[0].digest = 1;
    CHECK(batch.store(inbox.connection()).stored == 1);
    return batch.events()[0].event_id;
  }
  std::vector<inbox::Receipt> receive(const inbox::LedgerFilters& filters, const std::vector<base::Uuid>& ids,
                                      std::int64_t digest = 1) {
    std::vector<event::Event> events(ids.size());
    std::vector<inbox::ReceivedEvent> received;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      events[i].event_id = ids[i];
      events[i].event_type = "signup";
      events[i].payload = "{}";
      events[i].digest = digest;
      received.push_back({static_cast<std::int32_t>(i), "signup", &events[i]});
    }
    return inbox::receive(inbox.connection(), filters, received);
  }

  Inbox inbox;
};

}  // namespace

TEST_CASE("an id of a frozen generation is a duplicate, with its filter, without it, and for callers without filters") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(1000).store(inbox.connection());
  REQUIRE(freeze(inbox));
  inbox::LedgerFilters filters;
  const std::string how = GENERATE("filter", "no filter", "no suspects", "likely duplicates");
  CAPTURE(how);
  if (how == "filter" || how == "likely duplicates") {
    const auto generation = inbox::read_generations(inbox.connection()).at(0);
    filters.put(generation.frozen.filter_key, filter_of(inbox, generation));
  }
  if (how == "likely duplicates") {
    Batch some{inbox};
    some.at(shard, 1000).event(first.events()[0].event_id);
    CHECK(store_filtered(inbox, filters, some).duplicates == 1);
    inbox.database().run("delete from inbox.position where next_offset > 1000");
  }
  Batch again{inbox};
  again.at(shard, 1000).events(500);
  for (int i = 0; i < 500; ++i) again.event(first.events()[static_cast<std::size_t>(i * 2)].event_id);
  again.get().routing_version = inbox.routing_version();
  const auto result = how == "no suspects" ? again.store(inbox.connection()) : store_filtered(inbox, filters, again);
  CHECK(result.stored == 500);
  CHECK(result.duplicates == 500);
  CHECK(result.conflicts == 0);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 1500);
  CHECK(inbox.database().number("select count(*) - count(distinct event_id) from inbox.ledger") == 0);
}

TEST_CASE("an id of a frozen generation that comes with another payload goes to quarantine as a conflict") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(2).store(inbox.connection());
  REQUIRE(freeze(inbox));
  Batch again{inbox};
  again.at(shard, 2).event(first.events()[0].event_id, "changed");
  const auto result = store_filtered(inbox, {}, again);
  CHECK(result.conflicts == 1);
  CHECK(result.stored == 0);
}

TEST_CASE("a batch that was prepared before a generation was frozen or dropped is refused, then prepared again") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(2).store(inbox.connection());
  Batch second{inbox};
  second.at(shard, 2).event(first.events()[0].event_id).events(1);
  second.get().suspects.emplace();  // nothing is frozen yet
  REQUIRE(freeze(inbox));
  CHECK(second.store(inbox.connection()).routing_is_stale);
  CHECK(inbox.position("orders") == 2);
  CHECK(store_filtered(inbox, {}, second).duplicates == 1);

  Batch third{inbox};
  third.at(shard, 4).event(first.events()[1].event_id);
  CHECK(drop_old(inbox).generation == 1);
  CHECK(third.store(inbox.connection()).routing_is_stale);
  CHECK(store_filtered(inbox, {}, third).stored == 1);  // forgotten: a new event
}

TEST_CASE("the filter of a freeze that a failover undid is never asked about the generation's later ids") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(10).store(inbox.connection());
  REQUIRE(freeze(inbox));
  inbox::LedgerFilters filters;
  const auto undone = inbox::read_generations(inbox.connection()).at(0);
  filters.put(undone.frozen.filter_key, filter_of(inbox, undone));
  inbox.database().run(  // the standby lacks the freeze
      "drop table inbox.ledger_g2; delete from inbox.ledger_generation where generation = 2; "
      "update inbox.ledger_generation set frozen_at = null, filter_key = null; "
      "update inbox.routing set version = version - 1, generation = 1");
  Batch second{inbox};
  second.at(shard, 10).events(10);
  CHECK(store_filtered(inbox, filters, second).stored == 10);
  REQUIRE(freeze(inbox));
  Batch again{inbox};
  again.at(shard, 20);
  for (const auto& event : second.events()) again.event(event.event_id);
  CHECK(store_filtered(inbox, filters, again).duplicates == 10);
}

TEST_CASE("an id that came over HTTP before is found in any generation, with filters and without them") {
  Posts posts;
  Inbox& inbox = posts.inbox;
  const auto first = posts.store();
  REQUIRE(freeze(inbox));
  const auto second = posts.store();
  REQUIRE(freeze(inbox));
  const auto third = posts.store();
  inbox::LedgerFilters filters;
  const std::string how = GENERATE("no filter", "one of two filters", "all filters", "filters of other freezes");
  CAPTURE(how);
  for (const auto& generation : inbox::read_generations(inbox.connection())) {
    const bool is_asked = how != "no filter" && (how != "one of two filters" || generation.frozen.generation == 1);
    const auto key = generation.frozen.filter_key + (how == "filters of other freezes" ? 1 : 0);
    if (is_asked) filters.put(key, filter_of(inbox, generation));
  }
  for (const auto& id : {first, second, third}) {
    CHECK(posts.receive(filters, {id}) == std::vector{inbox::Receipt::repeated});
    CHECK(posts.receive(filters, {id}, 2) == std::vector{inbox::Receipt::conflict});
  }
  const auto fresh = base::random_uuid();
  CHECK(posts.receive(filters, {second, fresh}) == std::vector{inbox::Receipt::repeated, inbox::Receipt::staged});
  CHECK(inbox.database().number("select count(*) from inbox.local_event") == 1);
}

TEST_CASE("an id that came over HTTP is not looked up in a generation that its filter rules out") {
  Posts posts;
  const auto known = posts.store();
  REQUIRE(freeze(posts.inbox));
  const auto generation = inbox::read_generations(posts.inbox.connection()).at(0);
  inbox::LedgerFilters filters;
  filters.put(generation.frozen.filter_key, std::make_shared<inbox::IdFilter>(generation.frozen.filter_key, 100));
  // A filter without ids: a look-up would find the event.
  CHECK(posts.receive(filters, {known}) == std::vector{inbox::Receipt::staged});
}

TEST_CASE("a stored filter is read again, and a damaged filter is not") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1000).store(inbox.connection());
  REQUIRE(freeze(inbox));
  auto generation = inbox::read_generations(inbox.connection()).at(0);
  CHECK(generation.filter_parts == 0);
  inbox::store_filter(inbox.connection(), generation.frozen.filter_key, *filter_of(inbox, generation));
  generation = inbox::read_generations(inbox.connection()).at(0);
  CHECK(generation.filter_parts == 1);
  const auto filter = inbox::read_filter(inbox.connection(), generation);
  REQUIRE(filter != nullptr);
  CHECK(std::all_of(batch.events().begin(), batch.events().end(),
                    [&](const auto& event) { return filter->may_have(event.event_id); }));
  inbox.database().run("update inbox.ledger_filter set bits = set_byte(bits, 7, get_byte(bits, 7) # 1)");
  CHECK(inbox::read_filter(inbox.connection(), generation) == nullptr);
  CHECK(drop_old(inbox).generation == 1);
  CHECK(inbox.database().number("select count(*) from inbox.ledger_filter") == 0);
}

TEST_CASE("a resend tells how long after the first it came, a record that is read again does not") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch first{inbox};
  first.at(shard, 0).events(3).store(inbox.connection());
  inbox.database().run("update inbox.ledger set received_at = received_at - interval '1 hour' where \"offset\" = 1");
  REQUIRE(freeze(inbox));
  Batch resent{inbox};
  resent.at(shard, 3).event(first.events()[0].event_id).event(first.events()[1].event_id).events(1);
  resent.get().routing_version = inbox.routing_version();
  auto seconds = resent.store(inbox.connection()).resend_seconds;
  std::sort(seconds.begin(), seconds.end());
  REQUIRE(seconds.size() == 2);
  CHECK(seconds[0] < 600);
  CHECK(seconds[1] / 600 == 6);

  inbox.database().run("insert into inbox.position values ($1::int, 1, -1, 0, 1)", {std::to_string(shard)});
  Batch read_again{inbox};
  read_again.at(shard, 0, 1);
  for (const auto& event : first.events()) read_again.event(event.event_id);
  read_again.get().routing_version = inbox.routing_version();
  const auto result = read_again.store(inbox.connection());
  CHECK(result.duplicates == 3);
  CHECK(result.resend_seconds.empty());
}

TEST_CASE("ids are stored once through random batches, freezes, filters, losses of filters and undone freezes") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random{seed};
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  std::vector<base::Uuid> known;
  inbox::LedgerFilters filters;
  std::int64_t offset = 0;
  for (int step = 0; step < 60; ++step) {
    Batch batch{inbox};
    batch.at(shard, offset);
    std::size_t fresh = 0;
    const auto size = 1 + random() % 30;
    std::vector<base::Uuid> added;
    for (std::size_t i = 0; i < size; ++i) {
      if (!known.empty() && one_in(3)) {
        batch.event(known[random() % known.size()]);
      } else if (!added.empty() && one_in(10)) {
        batch.event(added[random() % added.size()]);
      } else {
        added.push_back(base::random_uuid());
        batch.event(added.back());
        ++fresh;
      }
    }
    const auto result = one_in(5) ? [&] {
      batch.get().routing_version = inbox.routing_version();
      return batch.store(inbox.connection());
    }()
                                  : store_filtered(inbox, filters, batch);
    REQUIRE(result.stored == static_cast<std::int64_t>(fresh));
    REQUIRE(result.duplicates == static_cast<std::int64_t>(size - fresh));
    offset += static_cast<std::int64_t>(size);
    known.insert(known.end(), added.begin(), added.end());
    if (one_in(4)) freeze(inbox);
    if (one_in(2)) {
      for (const auto& generation : inbox::read_generations(inbox.connection())) {
        if (one_in(2)) filters.put(generation.frozen.filter_key, filter_of(inbox, generation));
      }
    }
    if (one_in(6)) filters.keep({});
  }
  CHECK(inbox.database().number("select count(*) - count(distinct event_id) from inbox.ledger") == 0);
  CHECK(inbox.database().number("select count(*) from inbox.event") == static_cast<std::int64_t>(known.size()));
}
