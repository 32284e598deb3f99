// Routing a batch into runs, and leasing the first of them.
#include <catch2/catch_test_macros.hpp>

#include "consumer/routing.hpp"
#include "inbox/sequence.hpp"

namespace inboxd::consumer {
namespace {

constexpr std::int32_t shard = 3;

/// `count` events, the first at offset `first`, the others `apart` from each other.
std::vector<event::Event> events_of(std::int32_t of_shard, std::int64_t first, int count, std::int64_t apart = 1) {
  std::vector<event::Event> out;
  for (int i = 0; i < count; ++i) {
    event::Event event;
    event.shard_id = of_shard;
    event.offset = first + i * apart;
    out.push_back(event);
  }
  return out;
}

/// The runs of a handler that subscribes to everything.
HandlerRuns planned_of(const std::vector<event::Event>& events, int run_events = 1'000) {
  const inbox::Routing routing{1, {{7, "receipt", {}, {}, std::nullopt}}};
  std::vector<bool> has_handler;
  auto all = route(
      events, {}, routing, [](std::int32_t) { return "orders"; }, run_events, has_handler);
  CHECK(has_handler == std::vector<bool>(events.size(), true));
  REQUIRE(all.size() == 1);
  CHECK(all.front().handler_id == 7);
  CHECK(all.front().events == static_cast<std::int64_t>(events.size()));
  return std::move(all.front());
}

std::vector<std::string> texts_of(const std::vector<inbox::PlannedRun>& runs) {
  std::vector<std::string> out;
  for (const auto& run : runs) out.push_back(run.pending.text());
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a batch is cut into runs of `run_events` events, the last run shorter") {
  const auto planned = planned_of(events_of(shard, 0, 2'500));
  CHECK(texts_of(planned.runs) == Texts{"{[0,1000)}", "{[1000,2000)}", "{[2000,2500)}"});
}

TEST_CASE("events before their deliver_at have runs of their own, except in mode sequential") {
  auto events = events_of(shard, 0, 5);
  for (const int i : {1, 3}) events[static_cast<std::size_t>(i)].deliver_at = 2'000;
  events[2].deliver_at = 1'000;
  using Order = inbox::Subscription::Order;
  const inbox::Routing routing{1,
                               {{7, "single", {}, {}, std::nullopt},
                                {8, "sequential", {}, {}, std::nullopt, Order::of_partition},
                                {9, "batch", {}, {}, std::nullopt, Order::of_handler, true}}};
  std::vector<bool> has_handler;
  auto all = route(
      events, {shard}, routing, [](std::int32_t) { return "orders"; }, 1'000, has_handler, 1'000);
  REQUIRE(all.size() == 3);
  CHECK(texts_of(all[0].runs) == Texts{"{[0,1),[2,3),[4,5)}", "{[1,2),[3,4)}"});
  CHECK(all[0].events == 3);
  CHECK_FALSE(all[0].runs[0].due);
  CHECK(all[0].runs[1].due == 2'000);
  CHECK(texts_of(all[1].runs) == Texts{"{[0,5)}"});
  CHECK(texts_of(all[2].runs) == texts_of(all[0].runs));
  lease_reserved(all[0], {5, std::chrono::seconds{30}});
  CHECK(all[0].runs[0].lease.count() > 0);
  CHECK(all[0].runs[1].lease.count() == 0);
}

TEST_CASE("events without a handler are reported: of another topic, or of another type") {
  auto events = events_of(shard, 0, 3);
  events[0].event_type = "OrderPlaced";
  events[1].event_type = "order.placed";
  events[2].shard_id = shard + 1;
  events[2].event_type = "OrderPlaced";
  const inbox::Routing routing{
      1,
      {{7, "receipt", {"orders"}, {"OrderPlaced"}, std::nullopt}, {8, "audit", {"orders"}, {"Audit*"}, std::nullopt}}};
  std::vector<bool> has_handler;
  const auto planned = route(
      events, {}, routing, [](std::int32_t of) { return of == shard ? "orders" : "returns"; }, 1'000, has_handler);
  CHECK(planned.size() == 1);
  CHECK(has_handler == std::vector<bool>{true, false, false});
}

TEST_CASE("runs of a single event are a row each") {
  CHECK(texts_of(planned_of(events_of(shard, 5, 3), 1).runs) == Texts{"{[5,6)}", "{[6,7)}", "{[7,8)}"});
}

TEST_CASE("no run spans more offsets than view deliveries looks back, however far apart its events are") {
  constexpr std::int64_t looks_back = 10'000;  // sql/views/deliveries.sql
  const auto far = planned_of(events_of(shard, 0, 7, 4'000));
  CHECK(texts_of(far.runs) ==
        Texts{"{[0,1),[4000,4001),[8000,8001)}", "{[12000,12001),[16000,16001),[20000,20001)}", "{[24000,24001)}"});
  CHECK(planned_of(events_of(shard, 0, 2, looks_back - 1)).runs.size() == 1);
  CHECK(planned_of(events_of(shard, 0, 2, looks_back)).runs.size() == 2);
}

TEST_CASE("two shards share no run, even with consecutive offsets") {
  auto events = events_of(shard, 0, 2);
  const auto of_another = events_of(shard + 1, 2, 2);
  events.insert(events.end(), of_another.begin(), of_another.end());
  const auto runs = planned_of(events).runs;
  REQUIRE(texts_of(runs) == Texts{"{[0,2)}", "{[2,4)}"});
  CHECK(runs[0].shard_id == shard);
  CHECK(runs[1].shard_id == shard + 1);
}

TEST_CASE("a run that fits only in part is split, and no offset is lost or repeated") {
  auto events = events_of(shard, 0, 200);
  const auto after_a_gap = events_of(shard, 1'000, 200);
  events.insert(events.end(), after_a_gap.begin(), after_a_gap.end());
  constexpr std::chrono::milliseconds lease{5'000}, none{0};

  auto within = planned_of(events);
  lease_reserved(within, {300, lease, 0});
  REQUIRE(texts_of(within.runs) == Texts{"{[0,200),[1000,1100)}", "{[1100,1200)}"});
  CHECK(within.runs[0].lease == lease);
  CHECK(within.runs[1].lease == none);
  CHECK(within.runs[1].handler_id == within.runs[0].handler_id);
  CHECK(within.runs[1].shard_id == shard);

  auto at_the_gap = planned_of(events);
  lease_reserved(at_the_gap, {200, lease, 0});
  CHECK(texts_of(at_the_gap.runs) == Texts{"{[0,200)}", "{[1000,1200)}"});

  auto in_runs = planned_of(events);
  lease_reserved(in_runs, {300, lease, 150});
  REQUIRE(texts_of(in_runs.runs) == Texts{"{[0,150)}", "{[150,200),[1000,1100)}", "{[1100,1200)}"});
  CHECK(in_runs.runs[1].lease == lease);
  CHECK(in_runs.runs[2].lease == none);

  auto whole = planned_of(events);
  lease_reserved(whole, {0, lease, 0});
  REQUIRE(whole.runs.size() == 1);
  CHECK(whole.runs[0].lease == none);
}

// ---- handlers that keep order

namespace {

/// Shards 3 and 4 are of `orders`, others of `returns`.
std::vector<HandlerRuns> routed_in_order(const std::vector<event::Event>& events,
                                         const std::vector<std::int32_t>& shards, inbox::Subscription::Order order,
                                         std::vector<bool>& has_handler, std::vector<std::string> types = {}) {
  const inbox::Routing routing{1, {{7, "receipt", {"orders"}, std::move(types), std::nullopt, order}}};
  return route(
      events, shards, routing, [](std::int32_t of) { return of <= shard + 1 ? "orders" : "returns"; }, 1'000,
      has_handler);
}

std::vector<event::Event> both(std::vector<event::Event> first, const std::vector<event::Event>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

using Order = inbox::Subscription::Order;

}  // namespace

TEST_CASE("a handler that keeps order has an entry for each shard of its topics, with or without events") {
  const auto events = both(events_of(shard, 0, 2), events_of(shard + 2, 0, 2));
  std::vector<bool> has_handler;
  const auto planned = routed_in_order(events, {shard, shard + 1, shard + 2}, Order::of_partition, has_handler);
  REQUIRE(planned.size() == 2);
  CHECK(planned[0].ordered_shard == shard);
  CHECK(planned[0].sequence == shard);
  CHECK(planned[0].events == 2);
  REQUIRE(planned[0].runs.size() == 1);
  CHECK(planned[0].runs[0].sequence == shard);
  CHECK(planned[1].ordered_shard == shard + 1);
  CHECK(planned[1].sequence == shard + 1);
  CHECK(planned[1].events == 0);
  CHECK(planned[1].runs.empty());
  CHECK(has_handler == std::vector<bool>{true, true, false, false});
}

TEST_CASE("the events of each shard are in its entry") {
  const auto events = both(events_of(shard, 5, 2), events_of(shard + 1, 8, 3));
  std::vector<bool> has_handler;
  const auto planned = routed_in_order(events, {shard, shard + 1}, Order::of_partition, has_handler);
  REQUIRE(planned.size() == 2);
  CHECK(texts_of(planned[0].runs) == Texts{"{[5,7)}"});
  CHECK(texts_of(planned[1].runs) == Texts{"{[8,11)}"});
  CHECK(planned[1].first_event == 2);
  CHECK(planned[1].runs[0].shard_id == shard + 1);
  CHECK(has_handler == std::vector<bool>(5, true));
}

TEST_CASE("a handler that keeps order as a whole has one sequence") {
  const auto events = both(events_of(shard, 0, 1), events_of(shard + 1, 0, 1));
  std::vector<bool> has_handler;
  const auto planned = routed_in_order(events, {shard, shard + 1}, Order::of_handler, has_handler);
  REQUIRE(planned.size() == 2);
  for (const auto& each : planned) {
    CHECK(each.sequence == inbox::whole_handler);
    CHECK(each.runs.at(0).sequence == inbox::whole_handler);
  }
}

TEST_CASE("a handler that keeps order gets the types it subscribes to, and an entry without them") {
  auto events = events_of(shard, 0, 2);
  events[1].event_type = "OrderPlaced";
  std::vector<bool> has_handler;
  CHECK(texts_of(routed_in_order(events, {shard}, Order::of_partition, has_handler, {"OrderPlaced"}).at(0).runs) ==
        Texts{"{[1,2)}"});
  CHECK(has_handler == std::vector<bool>{false, true});
  CHECK(routed_in_order(events, {shard}, Order::of_partition, has_handler, {"Other"}).at(0).runs.empty());
}

TEST_CASE("runs that are born leased in a sequence carry its fence, also the part of a split run") {
  std::vector<bool> has_handler;
  auto planned = routed_in_order(events_of(shard, 0, 10), {shard}, Order::of_partition, has_handler).at(0);
  lease_reserved(planned, {4, std::chrono::milliseconds{5'000}, 0, true, 77});
  REQUIRE(texts_of(planned.runs) == Texts{"{[0,4)}", "{[4,10)}"});
  CHECK(planned.runs[0].sequence_fence == 77);
  CHECK(planned.runs[0].sequence == shard);
  CHECK(planned.runs[1].sequence == shard);
  CHECK(planned.runs[1].lease == std::chrono::milliseconds{0});
}

}  // namespace inboxd::consumer
