// Which sequences this process owns, and what may be read from them, born leased or must be released.
#include "queue/sequences.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

namespace inboxd::dispatcher {
namespace {

using Clock = Sequences::Clock;
using State = inbox::SequenceRead::State;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Numbers = std::vector<std::int32_t>;
using Keys = std::vector<inbox::SequenceKey>;

constexpr std::int32_t shard = 3;
constexpr std::int64_t fence = 77;
const Clock::time_point now{seconds{1'000}};
const Clock::time_point lease_end = now + seconds{30};

inbox::SequenceRead read_of(State state, std::int64_t next_offset = 100, std::int32_t sequence = shard) {
  return {sequence, state, 1, next_offset};
}

inbox::LeasedRun run_of(std::int64_t ordinal, std::int64_t offset, std::int32_t sequence = shard) {
  inbox::LeasedRun out;
  out.sequence = sequence;
  out.ordinal = ordinal;
  out.pending.add(offset);
  return out;
}

void take(Sequences& sequences, std::int32_t sequence = shard) { sequences.took({sequence}, fence, lease_end); }

/// Owns one sequence of an assigned partition, whose lanes are known.
void begin_reading(Sequences& sequences) {
  sequences.assigned(shard);
  take(sequences);
  sequences.lanes_read(shard, 0, true);
}

void catch_up(Sequences& sequences, std::int64_t next_offset = 100) {
  begin_reading(sequences);
  sequences.read(read_of(State::end, next_offset));
}

/// Whether a batch from this offset on may be born leased. Without effect afterwards.
bool may_be_leased(Sequences& sequences, std::int64_t offset, std::int32_t epoch = 1) {
  const auto out = sequences.reserve(shard, {epoch, offset});
  REQUIRE(out);
  CHECK(out->fence == fence);
  return out->may_be_leased;
}

std::int64_t start_of(Sequences& sequences, Clock::time_point at) {
  const auto reads = sequences.to_read(at);
  return reads.empty() ? -2 : reads.front().start;
}

}  // namespace

TEST_CASE("the sequences of assigned partitions are wanted until they are owned") {
  Sequences sequences;
  sequences.assigned(5);
  sequences.assigned(shard);
  CHECK(sequences.wanted() == Numbers{shard, 5});
  take(sequences);
  CHECK(sequences.wanted() == Numbers{5});
  CHECK(sequences.owned() == Keys{{shard, fence}});
  sequences.revoked(5);
  CHECK(sequences.wanted().empty());
}

TEST_CASE("a handler that keeps order as a whole wants one sequence, whatever is assigned") {
  Sequences sequences;
  sequences.assigned(shard);
  take(sequences);
  sequences.use(Sequences::Scope::handler);
  CHECK(sequences.take_begun_drains() == Numbers{shard});
  CHECK(sequences.wanted() == Numbers{inbox::whole_handler});
  take(sequences, inbox::whole_handler);
  CHECK(sequences.wanted().empty());
  sequences.use(Sequences::Scope::handler);
  CHECK(sequences.take_begun_drains().empty());
}

TEST_CASE("orphans are looked for from time to time, not at once") {
  Sequences sequences;
  CHECK_FALSE(sequences.looks_for_orphans(now));
  CHECK_FALSE(sequences.looks_for_orphans(now + seconds{2}));
  CHECK(sequences.looks_for_orphans(now + seconds{3}));
  CHECK_FALSE(sequences.looks_for_orphans(now + milliseconds{3'500}));
  CHECK(sequences.looks_for_orphans(now + milliseconds{3'700}));
}

TEST_CASE("nothing is read before the lanes are known") {
  Sequences sequences;
  sequences.assigned(shard);
  take(sequences);
  CHECK_FALSE(sequences.any_to_read(now));
  CHECK(sequences.to_read(now).empty());
  CHECK_FALSE(sequences.may_run(shard));
  CHECK(sequences.lanes_to_read()->sequence == shard);
  sequences.lanes_read(shard, 40, false);
  REQUIRE(sequences.lanes_to_read());
  CHECK(sequences.lanes_to_read()->after == 40);
  CHECK(sequences.to_read(now).empty());
  sequences.lanes_read(shard, 90, true);
  CHECK_FALSE(sequences.lanes_to_read());
  CHECK(sequences.any_to_read(now));
  CHECK(sequences.may_run(shard));
}

TEST_CASE("reading continues from the last run that was claimed, and now and then from the start") {
  Sequences sequences;
  begin_reading(sequences);
  CHECK(start_of(sequences, now) == -1);
  auto run = run_of(7, 68);
  run.pending.add(70);
  sequences.claimed(run);
  auto of_lane = run_of(9, 90);
  of_lane.lane = 11;
  sequences.claimed(of_lane);
  sequences.claimed(run_of(5, 95));
  const auto reads = sequences.to_read(now + seconds{1});
  REQUIRE(reads.size() == 1);
  CHECK(reads[0].start == 7);
  CHECK(reads[0].mark == 7);
  CHECK(reads[0].mark_offset == 70);
  CHECK(start_of(sequences, now + seconds{10}) == -1);
  CHECK(start_of(sequences, now + seconds{11}) == 7);
}

TEST_CASE("a whole handler is always read from the start, because several transactions store for it at once") {
  Sequences sequences;
  sequences.use(Sequences::Scope::handler);
  take(sequences, inbox::whole_handler);
  sequences.lanes_read(inbox::whole_handler, 0, true);
  CHECK(start_of(sequences, now) == -1);
  sequences.claimed(run_of(0, 50, inbox::whole_handler));
  CHECK(start_of(sequences, now + seconds{1}) == -1);
  sequences.claimed(run_of(4, 50, inbox::whole_handler));
  CHECK(start_of(sequences, now + seconds{2}) == -1);
}

TEST_CASE("a batch is born leased only if all before it is in memory or settled") {
  Sequences sequences;
  CHECK_FALSE(sequences.reserve(shard, {1, 100}));
  SECTION("while it is read, no batch") {
    begin_reading(sequences);
    CHECK_FALSE(may_be_leased(sequences, 100));
    sequences.end_reservation(shard, {1, 100}, {1, 120}, false);
    sequences.read(read_of(State::more));
    CHECK_FALSE(may_be_leased(sequences, 100));
  }
  SECTION("caught up, the batch from that position on") {
    catch_up(sequences);
    CHECK(may_be_leased(sequences, 100));
    sequences.end_reservation(shard, {1, 100}, {1, 120}, true);
    CHECK_FALSE(may_be_leased(sequences, 100));
    sequences.end_reservation(shard, {1, 100}, {1, 120}, false);
  }
  SECTION("caught up, not a batch of another epoch") {
    catch_up(sequences);
    CHECK_FALSE(may_be_leased(sequences, 100, 2));
  }
  SECTION("caught up, one batch after the other") {
    catch_up(sequences);
    for (std::int64_t offset = 100; offset < 200; offset += 20) {
      CHECK(may_be_leased(sequences, offset));
      sequences.end_reservation(shard, {1, offset}, {1, offset + 20}, true);
    }
    CHECK(start_of(sequences, now) == -1);
    CHECK_FALSE(sequences.any_to_read(now + seconds{1}));
  }
  SECTION("a batch that is stored as due is read first") {
    catch_up(sequences);
    CHECK(may_be_leased(sequences, 100));
    sequences.end_reservation(shard, {1, 100}, {1, 120}, false);
    CHECK_FALSE(may_be_leased(sequences, 120));
    CHECK(sequences.any_to_read(now));
    sequences.end_reservation(shard, {1, 120}, {1, 140}, false);
    sequences.read(read_of(State::end, 120));  // of a reading that did not see the second batch
    CHECK_FALSE(may_be_leased(sequences, 140));
    sequences.end_reservation(shard, {1, 140}, {1, 160}, false);
    CHECK(sequences.to_read(now).size() == 1);
    sequences.read(read_of(State::end, 160));
    CHECK(may_be_leased(sequences, 160));
  }
  SECTION("a reading may see a batch before ingest knows of its commit") {
    begin_reading(sequences);
    CHECK_FALSE(may_be_leased(sequences, 100));
    sequences.read(read_of(State::end, 120));
    CHECK(sequences.any_caught_up());
    sequences.end_reservation(shard, {1, 100}, {1, 120}, false);
    CHECK(may_be_leased(sequences, 120));
  }
  SECTION("while a suspect is in memory, no batch") {
    begin_reading(sequences);
    auto crashed = run_of(1, 10);
    crashed.claims = inbox::suspected_after + 1;
    crashed.key.delivery_id = 7;
    sequences.claimed(run_of(2, 20));
    sequences.claimed(crashed);
    sequences.read(read_of(State::end));
    CHECK_FALSE(may_be_leased(sequences, 100));
    CHECK(sequences.to_read(now).empty());
    CHECK_FALSE(sequences.run_left(shard, 8));
    CHECK(sequences.to_read(now).empty());
    CHECK(sequences.run_left(shard, 7));
    CHECK(sequences.any_to_read(now));
  }
}

TEST_CASE("a sequence of a partition that another instance has never catches up") {
  Sequences sequences;
  take(sequences);
  sequences.lanes_read(shard, 0, true);
  sequences.read(read_of(State::end));
  CHECK_FALSE(may_be_leased(sequences, 100));
  CHECK(sequences.any_to_read(now));
}

TEST_CASE("a sequence without a stored position does not catch up") {
  Sequences sequences;
  begin_reading(sequences);
  sequences.read(read_of(State::end, -1));
  CHECK_FALSE(may_be_leased(sequences, -1, 0));
}

TEST_CASE("a caught-up sequence that finds more rows is read again") {
  const State state = GENERATE(State::more, State::waits);
  Sequences sequences;
  catch_up(sequences);
  sequences.to_read(now);
  CHECK_FALSE(sequences.any_to_read(now + seconds{1}));
  sequences.read(read_of(state));
  CHECK(sequences.any_to_read(now + seconds{1}));
  CHECK_FALSE(may_be_leased(sequences, 100));
}

TEST_CASE("a sequence is released once its runs have left memory and its batches are stored") {
  Sequences sequences;
  catch_up(sequences);
  sequences.claimed(run_of(1, 10));
  CHECK(may_be_leased(sequences, 100));
  sequences.drain(shard);
  sequences.drain(shard);
  CHECK(sequences.take_begun_drains() == Numbers{shard});
  CHECK(sequences.take_begun_drains().empty());
  CHECK_FALSE(sequences.may_run(shard));
  CHECK_FALSE(sequences.any_to_read(now));
  CHECK(sequences.take_drained().empty());
  sequences.run_left(shard, 0);
  CHECK(sequences.take_drained().empty());
  sequences.end_reservation(shard, {1, 100}, {1, 120}, false);
  CHECK(sequences.take_drained() == Keys{{shard, fence}});
  CHECK(sequences.count() == 0);
  CHECK(sequences.wanted() == Numbers{shard});
}

TEST_CASE("a draining sequence stays so, whatever is read") {
  Sequences sequences;
  catch_up(sequences);
  sequences.drain(shard);
  for (const State state : {State::end, State::more, State::leased, State::waits, State::lost}) {
    sequences.read(read_of(state));
  }
  sequences.lanes_read(shard, 0, true);
  CHECK_FALSE(sequences.may_run(shard));
  CHECK(sequences.take_drained() == Keys{{shard, fence}});
}

TEST_CASE("a sequence drains when its partition goes, another instance owns it, or its lease ends") {
  Sequences sequences;
  begin_reading(sequences);
  SECTION("revoked") { sequences.revoked(shard); }
  SECTION("lost") { sequences.read(read_of(State::lost)); }
  SECTION("overdue") {
    sequences.drain_overdue(lease_end - milliseconds{1});
    CHECK(sequences.take_begun_drains().empty());
    sequences.drain_overdue(lease_end);
  }
  SECTION("not renewed") { sequences.renewed({{shard, fence}}, {}, lease_end); }
  SECTION("taken again, although it is owned") { sequences.took({shard}, fence + 1, lease_end); }
  CHECK(sequences.take_begun_drains() == Numbers{shard});
}

TEST_CASE("a renewal extends the lease, and never shortens it") {
  Sequences sequences;
  begin_reading(sequences);
  CHECK(sequences.lease_end(shard) == lease_end);
  sequences.renewed({{shard, fence}}, {{shard, false}}, lease_end + seconds{5});
  CHECK(sequences.lease_end(shard) == lease_end + seconds{5});
  sequences.renewed({{shard, fence}}, {{shard, false}}, lease_end);
  CHECK(sequences.lease_end(shard) == lease_end + seconds{5});
  sequences.renewed({{shard, fence - 1}}, {}, lease_end);  // of an earlier ownership
  CHECK(sequences.take_begun_drains().empty());
  CHECK(sequences.lease_end(shard + 1) == Clock::time_point{});
}

TEST_CASE("a wanted sequence goes to the instance that has its partition") {
  Sequences sequences;
  SECTION("unless this process has it, too") {
    begin_reading(sequences);
    sequences.renewed({{shard, fence}}, {{shard, true}}, lease_end);
    CHECK(sequences.take_begun_drains().empty());
  }
  SECTION("an orphan") {
    take(sequences);
    sequences.renewed({{shard, fence}}, {{shard, true}}, lease_end);
    CHECK(sequences.take_begun_drains() == Numbers{shard});
  }
  SECTION("the sequence of a whole handler stays") {
    sequences.use(Sequences::Scope::handler);
    take(sequences, inbox::whole_handler);
    sequences.renewed({{inbox::whole_handler, fence}}, {{inbox::whole_handler, true}}, lease_end);
    CHECK(sequences.take_begun_drains().empty());
  }
}

TEST_CASE("a lease of unknown events that stays makes the sequence be taken again") {
  Sequences sequences;
  begin_reading(sequences);
  SECTION("after some readings in a row") {
    for (int i = 0; i < 4; ++i) sequences.read(read_of(State::leased));
    CHECK(sequences.take_begun_drains().empty());
    sequences.read(read_of(State::leased));
    CHECK(sequences.take_begun_drains() == Numbers{shard});
  }
  SECTION("not if another reading came between") {
    for (int i = 0; i < 4; ++i) sequences.read(read_of(State::leased));
    sequences.read(read_of(State::more));
    for (int i = 0; i < 4; ++i) sequences.read(read_of(State::leased));
    CHECK(sequences.take_begun_drains().empty());
  }
  SECTION("not while a batch is being stored, whose leases look the same") {
    sequences.reserve(shard, {1, 100});
    for (int i = 0; i < 20; ++i) sequences.read(read_of(State::leased));
    CHECK(sequences.take_begun_drains().empty());
    sequences.end_reservation(shard, {1, 100}, {1, 120}, false);
    for (int i = 0; i < 5; ++i) sequences.read(read_of(State::leased));
    CHECK(sequences.take_begun_drains() == Numbers{shard});
  }
}

TEST_CASE("a caught-up sequence with a lease of unknown events is taken again, too") {
  Sequences sequences;
  catch_up(sequences);
  for (int i = 0; i < 5; ++i) sequences.read(read_of(State::leased));
  CHECK(sequences.take_begun_drains() == Numbers{shard});
}

}  // namespace inboxd::dispatcher
