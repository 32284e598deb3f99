// Which runs a batch becomes, and which of them are leased.
#include "consumer/plan.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::consumer {
namespace {

constexpr std::int32_t shard = 3;

/// Events at these offsets: the first one, and so many more, each `apart` from the one before.
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

/// What one handler of everything is owed.
Owed owed_of(const std::vector<event::Event>& events, int run_events = 1'000) {
  const inbox::Routing routing{1, {{7, "receipt", {}, {}, std::nullopt}}};
  auto all = route(
      events, routing, [](std::int32_t) { return "orders"; }, run_events);
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

TEST_CASE("a batch is cut into runs of so many events, the last one of what is left") {
  const auto owed = owed_of(events_of(shard, 0, 2'500));
  CHECK(texts_of(owed.runs) == Texts{"{[0,1000)}", "{[1000,2000)}", "{[2000,2500)}"});
}

TEST_CASE("runs of one event are a row for each event") {
  CHECK(texts_of(owed_of(events_of(shard, 5, 3), 1).runs) == Texts{"{[5,6)}", "{[6,7)}", "{[7,8)}"});
}

TEST_CASE("however far apart its events are, no run spans more offsets than the view deliveries looks back") {
  constexpr std::int64_t looks_back = 10'000;  // sql/migrations/0003_views.sql
  const auto far = owed_of(events_of(shard, 0, 7, 4'000));
  CHECK(texts_of(far.runs) ==
        Texts{"{[0,1),[4000,4001),[8000,8001)}", "{[12000,12001),[16000,16001),[20000,20001)}", "{[24000,24001)}"});
  CHECK(owed_of(events_of(shard, 0, 2, looks_back - 1)).runs.size() == 1);
  CHECK(owed_of(events_of(shard, 0, 2, looks_back)).runs.size() == 2);
}

TEST_CASE("two shards share no run, though the offsets go on from one to the other") {
  auto events = events_of(shard, 0, 2);
  const auto of_another = events_of(shard + 1, 2, 2);
  events.insert(events.end(), of_another.begin(), of_another.end());
  const auto runs = owed_of(events).runs;
  REQUIRE(texts_of(runs) == Texts{"{[0,2)}", "{[2,4)}"});
  CHECK(runs[0].shard_id == shard);
  CHECK(runs[1].shard_id == shard + 1);
}

TEST_CASE("where there is room for a part of a run it is split, and no offset is lost or owed twice") {
  auto events = events_of(shard, 0, 200);
  const auto behind_a_gap = events_of(shard, 1'000, 200);
  events.insert(events.end(), behind_a_gap.begin(), behind_a_gap.end());
  constexpr std::chrono::milliseconds lease{5'000}, none{0};

  auto within = owed_of(events);
  lease_as_room_allows(within, {300, lease, 0});
  REQUIRE(texts_of(within.runs) == Texts{"{[0,200),[1000,1100)}", "{[1100,1200)}"});
  CHECK(within.runs[0].lease == lease);
  CHECK(within.runs[1].lease == none);
  CHECK(within.runs[1].handler_id == within.runs[0].handler_id);
  CHECK(within.runs[1].shard_id == shard);

  auto at_the_gap = owed_of(events);
  lease_as_room_allows(at_the_gap, {200, lease, 0});
  CHECK(texts_of(at_the_gap.runs) == Texts{"{[0,200)}", "{[1000,1200)}"});

  auto in_pieces = owed_of(events);
  lease_as_room_allows(in_pieces, {300, lease, 150});
  REQUIRE(texts_of(in_pieces.runs) == Texts{"{[0,150)}", "{[150,200),[1000,1100)}", "{[1100,1200)}"});
  CHECK(in_pieces.runs[1].lease == lease);
  CHECK(in_pieces.runs[2].lease == none);

  auto whole = owed_of(events);
  lease_as_room_allows(whole, {0, lease, 0});
  REQUIRE(whole.runs.size() == 1);
  CHECK(whole.runs[0].lease == none);
}

}  // namespace inboxd::consumer
