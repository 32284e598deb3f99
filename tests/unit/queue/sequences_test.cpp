// Which sequences this process owns, and what may be read from them, born leased or must be released.
#include "queue/sequences.hpp"

#include <catch2/catch_test_macros.hpp>

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using Clock = Sequences::Clock;
using Read = inbox::SequenceRead::State;
using Scope = Sequences::Scope;
using Numbers = std::vector<std::int32_t>;
using Keys = std::vector<inbox::SequenceKey>;

constexpr std::int32_t shard = 3;
constexpr std::int64_t its_fence = 77;
const Clock::time_point now{1'000s};
const Clock::time_point lease_end = now + 30s;

inbox::LeasedRun run_of(std::int64_t ordinal, std::int64_t offset, std::int32_t sequence = shard) {
  inbox::LeasedRun out;
  out.sequence = sequence;
  out.ordinal = ordinal;
  out.pending.add(offset);
  return out;
}

void take(Sequences& it, std::int32_t sequence = shard) { it.took({sequence}, its_fence, lease_end); }
/// Owns one sequence of an assigned partition, whose lanes are known.
void begin_reading(Sequences& it) {
  it.assigned(shard);
  take(it);
  it.lanes_read(shard, 0, true);
}
void use_whole_handler(Sequences& it) {
  it.use(Scope::handler);
  take(it, inbox::whole_handler);
  it.lanes_read(inbox::whole_handler, 0, true);
}
void reads(Sequences& it, Read state, std::int64_t next_offset = 100, int times = 1) {
  for (int i = 0; i < times; ++i) it.read({shard, state, 1, next_offset});
}
void catch_up(Sequences& it) {
  begin_reading(it);
  reads(it, Read::end);
}
/// Whether a batch from this offset on may be born leased.
bool may_store(Sequences& it, std::int64_t from, std::int32_t epoch = 1) {
  const auto out = it.reserve(shard, {epoch, from});
  REQUIRE(out);
  CHECK(out->fence == its_fence);
  return out->may_be_leased;
}
void stored(Sequences& it, std::int64_t from, std::int64_t to, bool is_in_memory) {
  it.end_reservation(shard, {1, from}, {1, to}, is_in_memory);
}
/// The first place of a reading at that time; -1: the start, -2: it is not read.
std::int64_t start(Sequences& it, Clock::duration after) {
  const auto all = it.to_read(now + after);
  return all.empty() ? -2 : all.front().start;
}

}  // namespace

TEST_CASE("the sequences of assigned partitions are wanted until they are owned, or one for the whole handler") {
  Sequences it;
  it.assigned(5);
  it.assigned(shard);
  CHECK(it.wanted() == Numbers{shard, 5});
  take(it);
  CHECK(it.wanted() == Numbers{5});
  CHECK(it.owned() == Keys{{shard, its_fence}});
  it.use(Scope::handler);
  CHECK(it.take_begun_drains() == Numbers{shard});
  CHECK(it.wanted() == Numbers{inbox::whole_handler});
  take(it, inbox::whole_handler);
  CHECK(it.wanted().empty());
  it.use(Scope::handler);
  CHECK(it.take_begun_drains().empty());
}

// fault: rebalance while keys are blocked or parked
TEST_CASE("nothing is read before all lanes are known") {
  Sequences it;
  it.assigned(shard);
  take(it);
  it.lanes_read(shard, 40, false);
  REQUIRE(it.lanes_to_read());
  CHECK(it.lanes_to_read()->after == 40);
  CHECK(it.to_read(now).empty());
  CHECK_FALSE(it.may_run(shard));
  it.lanes_read(shard, 90, true);
  CHECK_FALSE(it.lanes_to_read());
  CHECK(it.any_to_read(now));
}

TEST_CASE("reading continues from the last run that was claimed; from the start now and then, or for a whole handler") {
  Sequences it;
  begin_reading(it);
  CHECK(start(it, 0s) == -1);
  auto run = run_of(7, 68);
  run.pending.add(70);
  it.claimed(run);
  auto of_lane = run_of(9, 90);
  of_lane.lane = 11;
  it.claimed(of_lane);
  it.claimed(run_of(5, 95));
  const auto reads = it.to_read(now + 1s);
  REQUIRE(reads.size() == 1);
  CHECK(reads[0].start == 7);
  CHECK(reads[0].mark == 7);
  CHECK(reads[0].mark_offset == 70);
  CHECK(start(it, 10s) == -1);
  CHECK(start(it, 11s) == 7);
  Sequences whole;  // several transactions store for it at once
  use_whole_handler(whole);
  CHECK(start(whole, 0s) == -1);
  whole.claimed(run_of(4, 50, inbox::whole_handler));
  CHECK(start(whole, 1s) == -1);
}

TEST_CASE("a batch is born leased only if all before it is in memory or settled") {
  Sequences it;
  CHECK_FALSE(it.reserve(shard, {1, 100}));
  SECTION("while it is read, no batch") {
    begin_reading(it);
    CHECK_FALSE(may_store(it, 100));
    stored(it, 100, 120, false);
    reads(it, Read::more);
    CHECK_FALSE(may_store(it, 100));
  }
  SECTION("caught up, one batch after the other, from that position on") {
    catch_up(it);
    for (std::int64_t offset = 100; offset < 200; offset += 20) {
      CHECK(may_store(it, offset));
      stored(it, offset, offset + 20, true);
    }
    CHECK(start(it, 0s) == -1);
    CHECK_FALSE(it.any_to_read(now + 1s));
    CHECK_FALSE(may_store(it, 180));
    CHECK_FALSE(may_store(it, 200, 2));
  }
  SECTION("a batch that is stored as due is read first") {
    catch_up(it);
    CHECK(may_store(it, 100));
    stored(it, 100, 120, false);
    CHECK_FALSE(may_store(it, 120));
    CHECK(it.any_to_read(now));
    stored(it, 120, 140, false);
    reads(it, Read::end, 120);  // of a reading that did not see the second batch
    CHECK_FALSE(may_store(it, 140));
    stored(it, 140, 160, false);
    CHECK(it.to_read(now).size() == 1);
    reads(it, Read::end, 160);
    CHECK(may_store(it, 160));
  }
  SECTION("a reading may see a batch before ingest knows of its commit") {
    begin_reading(it);
    CHECK_FALSE(may_store(it, 100));
    reads(it, Read::end, 120);
    CHECK(it.any_caught_up());
    stored(it, 100, 120, false);
    CHECK(may_store(it, 120));
  }
  SECTION("while a suspect is in memory, no batch") {
    begin_reading(it);
    auto crashed = run_of(1, 10);
    crashed.claims = inbox::suspected_after + 1;
    crashed.key.delivery_id = 7;
    it.claimed(run_of(2, 20));
    it.claimed(crashed);
    reads(it, Read::end);
    CHECK_FALSE(may_store(it, 100));
    CHECK(it.to_read(now).empty());
    CHECK_FALSE(it.run_left(shard, 8));
    CHECK(it.to_read(now).empty());
    CHECK(it.run_left(shard, 7));
    CHECK(it.any_to_read(now));
  }
}

TEST_CASE("a draining sequence is released once its runs have left memory and its batches are stored") {
  Sequences it;
  catch_up(it);
  it.claimed(run_of(1, 10));
  CHECK(may_store(it, 100));
  it.drain(shard);
  it.drain(shard);
  CHECK(it.take_begun_drains() == Numbers{shard});
  CHECK(it.take_begun_drains().empty());
  for (const Read state : {Read::end, Read::more, Read::leased, Read::waits, Read::lost}) reads(it, state);
  it.lanes_read(shard, 0, true);
  CHECK_FALSE(it.may_run(shard));
  CHECK_FALSE(it.any_to_read(now));
  CHECK(it.take_drained().empty());
  SECTION("the runs first") {
    it.run_left(shard, 0);
    CHECK(it.take_drained().empty());
    stored(it, 100, 120, false);
  }
  SECTION("the batch first") {
    stored(it, 100, 120, false);
    CHECK(it.take_drained().empty());
    it.run_left(shard, 0);
  }
  CHECK(it.take_drained() == Keys{{shard, its_fence}});
  CHECK(it.count() == 0);
  CHECK(it.wanted() == Numbers{shard});
}

TEST_CASE("a sequence drains when its partition goes, another instance owns it, or its lease ends") {
  Sequences it;
  begin_reading(it);
  SECTION("revoked") { it.revoked(shard); }
  SECTION("lost") { reads(it, Read::lost); }
  SECTION("overdue") {
    it.drain_overdue(lease_end - 1ms);
    CHECK(it.take_begun_drains().empty());
    it.drain_overdue(lease_end);
  }
  SECTION("not renewed") { it.renewed({{shard, its_fence}}, {}, lease_end); }
  SECTION("renewed under another fence") {
    it.renewed({{shard, its_fence}}, {{shard, false, its_fence + 7}}, lease_end + 5s);
    CHECK(it.lease_end(shard) == lease_end + 5s);
  }
  SECTION("taken again, although it is owned") { it.took({shard}, its_fence + 1, lease_end); }
  CHECK(it.take_begun_drains() == Numbers{shard});
}

TEST_CASE("a sequence whose fence was changed is released under the present one, or others would wait for its lease") {
  Sequences it;
  begin_reading(it);
  std::int64_t present = its_fence + 7;
  SECTION("known by a renewal") { it.renewed({{shard, its_fence}}, {{shard, false, present}}, lease_end); }
  SECTION("known by a later renewal, while it drains") {
    it.revoked(shard);
    it.renewed({{shard, its_fence}}, {{shard, false, present}}, lease_end);
  }
  SECTION("taken again, although it is owned") { it.took({shard}, present, lease_end); }
  SECTION("not changed") {
    it.revoked(shard);
    present = its_fence;
  }
  CHECK(it.take_drained() == Keys{{shard, present}});
}

TEST_CASE("a renewal extends the lease, and never shortens it") {
  Sequences it;
  begin_reading(it);
  CHECK(it.lease_end(shard) == lease_end);
  for (const auto end : {lease_end + 5s, lease_end}) {
    it.renewed({{shard, its_fence}}, {{shard, false}}, end);
    CHECK(it.lease_end(shard) == lease_end + 5s);
  }
  it.renewed({{shard, its_fence - 1}}, {}, lease_end);  // of an earlier ownership
  CHECK(it.take_begun_drains().empty());
  CHECK(it.lease_end(shard + 1) == Clock::time_point{});
}

TEST_CASE("a wanted sequence goes to the instance that has its partition") {
  Sequences it;
  std::int32_t sequence = shard;
  Numbers goes;
  SECTION("unless this process has it, too") { begin_reading(it); }
  SECTION("an orphan") {
    take(it);
    goes = {shard};
  }
  SECTION("the sequence of a whole handler stays") {
    use_whole_handler(it);
    sequence = inbox::whole_handler;
  }
  it.renewed({{sequence, its_fence}}, {{sequence, true}}, lease_end);
  CHECK(it.take_begun_drains() == goes);
}

TEST_CASE("a sequence has everything in memory once it has caught up, before the batch that comes next alone") {
  Sequences it;
  CHECK_FALSE(it.has_all_before(shard, {1, 100}));
  begin_reading(it);
  CHECK_FALSE(it.has_all_before(shard, {1, 100}));
  reads(it, Read::end);
  CHECK(it.has_all_before(shard, {1, 100}));
  CHECK_FALSE(it.has_all_before(shard, {1, 120}));
  CHECK_FALSE(it.has_all_before(shard, {2, 100}));
}

TEST_CASE("a lease of unknown events that stays makes the sequence be taken again, unless a batch is being stored") {
  Sequences it;
  begin_reading(it);
  it.reserve(shard, {1, 100});
  reads(it, Read::leased, 100, 20);  // those of the batch look the same
  stored(it, 100, 120, false);
  reads(it, Read::leased, 100, 4);
  reads(it, Read::more);
  reads(it, Read::leased, 100, 4);
  CHECK(it.take_begun_drains().empty());
  reads(it, Read::leased);
  CHECK(it.take_begun_drains() == Numbers{shard});
}

}  // namespace inboxd::dispatcher
