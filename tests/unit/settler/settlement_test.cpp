#include "settler/settlement.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/settler/runs.hpp"

namespace inboxd::settler {
namespace {

using event::OffsetSet;
using std::chrono::milliseconds;
using test::failed_at;
using test::lease_of;
using test::offsets_from;
using test::run_of;

OffsetSet set(std::initializer_list<std::int64_t> offsets) {
  OffsetSet out;
  for (const auto offset : offsets) out.add(offset);
  return out;
}

FailedEvent with_delay(std::size_t index, milliseconds delay, std::string error_class) {
  FailedEvent out = failed_at(index, std::move(error_class));
  out.verdict.delay = delay;
  return out;
}

}  // namespace

TEST_CASE("a run with every event done is settled whole, by its own pending set") {
  const auto run = run_of(lease_of({10, 11, 15, 16}));
  SettlementBuilder builder{run};
  builder.add({run, 2, 4, {}});
  CHECK_FALSE(builder.complete());
  builder.add({run, 0, 2, {}});
  CHECK(builder.complete());
  const RunSettlement out = builder.take(0.5);
  CHECK(out.settlement.whole);
  CHECK(out.settlement.key == run->lease.key);
  CHECK(out.settlement.done == run->lease.pending);
  CHECK(out.counts.done == 4);
  CHECK(out.counts.events() == 4);
  CHECK(builder.events() == 0);
}

TEST_CASE("reports in any order settle exactly their offsets, never the gaps between them") {
  const auto run = run_of(lease_of({10, 12, 13, 20, 21, 30}));
  SettlementBuilder builder{run};
  builder.add({run, 4, 5, {}});
  builder.add({run, 0, 2, {}});
  const RunSettlement out = builder.take(0.5);
  CHECK_FALSE(out.settlement.whole);
  CHECK(out.settlement.done == set({10, 12, 21}));
  CHECK(out.counts.done == 3);
}

TEST_CASE("the last part of a run settles the row whole") {
  const auto run = run_of(lease_of({10, 11, 12}));
  SettlementBuilder builder{run};
  builder.add({run, 0, 2, {}});
  run->recorded += static_cast<std::size_t>(builder.take(0.5).counts.events());
  builder.add({run, 2, 3, {}});
  CHECK(builder.complete());
  const RunSettlement out = builder.take(0.5);
  CHECK(out.settlement.whole);
  CHECK(out.settlement.done == set({12}));
}

TEST_CASE("a run with purged events is never settled whole") {
  auto lease = lease_of({10, 11, 13});
  lease.pending.add(12);
  const auto run = run_of(std::move(lease));
  SettlementBuilder builder{run};
  builder.add({run, 0, 3, {}});
  CHECK(builder.complete());
  const RunSettlement out = builder.take(0.5);
  CHECK_FALSE(out.settlement.whole);
  CHECK(out.settlement.done == set({10, 11, 13}));
}

TEST_CASE("a failed event is split off, and its neighbours are done") {
  const auto run = run_of(lease_of(offsets_from(100, 5), 1, 2));
  SettlementBuilder builder{run};
  builder.add({run, 0, 5, {failed_at(2, "timeout", "late")}});
  const RunSettlement out = builder.take(0.5);
  CHECK(out.settlement.whole);
  CHECK(out.settlement.done == set({100, 101, 103, 104}));
  REQUIRE(out.settlement.retries.size() == 1);
  CHECK(out.settlement.retries[0].offsets == set({102}));
  CHECK(out.settlement.retries[0].last_error == "timeout: late");
  REQUIRE(out.settlement.failures.size() == 1);
  CHECK(out.settlement.failures[0].event_id == run->lease.events[2]->event_id);
  CHECK(out.settlement.failures[0].attempt == 3);
  CHECK(out.settlement.failures[0].error_class == "timeout");
  CHECK(out.settlement.failures[0].message == "late");
  CHECK(out.settlement.failures[0].duration == milliseconds{5});
  CHECK(out.counts.done == 4);
  CHECK(out.counts.retried == 1);
}

TEST_CASE("an event that the handler skips has no failure, and the next event of its key may run") {
  const auto run = run_of(lease_of(offsets_from(0, 3)));
  run->keys = {7, 7, 7};
  SettlementBuilder builder{run};
  FailedEvent skipped;
  skipped.index = 1;
  skipped.verdict.kind = event::Verdict::Kind::skipped;
  builder.add({run, 0, 3, {skipped}});
  const RunSettlement out = builder.take(0.5);
  CHECK(out.settlement.done == set({0, 2}));
  CHECK(out.settlement.skipped == set({1}));
  CHECK(out.settlement.failures.empty());
  CHECK(out.keys.finished == set({0, 1, 2}));
  CHECK(out.counts.skipped == 1);
  CHECK(out.counts.events() == 3);
}

TEST_CASE("events of a run that failed alike become one delivery with one due time, at any jitter") {
  const auto run = run_of(lease_of(offsets_from(0, 6)));
  SettlementBuilder builder{run};
  builder.add({run, 3, 6, {failed_at(3, "a"), failed_at(5, "b")}});
  builder.add({run, 0, 3, {failed_at(1, "a")}});
  const RunSettlement out = builder.take(0.123);
  REQUIRE(out.settlement.retries.size() == 1);
  CHECK(out.settlement.retries[0].offsets == set({1, 3, 5}));
  CHECK(out.settlement.retries[0].delay == backoff_for(run->policy->retry, 1, 0.123));
  CHECK(out.settlement.failures.size() == 3);
  CHECK_FALSE(out.settlement.retries[0].last_error);  // two of "a", another of "b": no error is common to all
}

TEST_CASE("retries with a handler's own delay are grouped by delay and error class") {
  const auto run = run_of(lease_of(offsets_from(0, 5)));
  SettlementBuilder builder{run};
  const milliseconds second{1'000};
  builder.add({run,
               0,
               5,
               {with_delay(0, second, "busy"), with_delay(1, 2 * second, "busy"), with_delay(2, second, "busy"),
                with_delay(3, second, "full"), failed_at(4, "busy")}});
  const RunSettlement out = builder.take(0.5);
  REQUIRE(out.settlement.retries.size() == 4);
  CHECK(out.settlement.retries[0].offsets == set({0, 2}));
  CHECK(out.settlement.retries[0].delay == second);
  CHECK(out.settlement.retries[1].offsets == set({1}));
  CHECK(out.settlement.retries[1].delay == 2 * second);
  CHECK(out.settlement.retries[2].offsets == set({3}));
  CHECK(out.settlement.retries[3].offsets == set({4}));
}

TEST_CASE("a deferred event is tried again uncharged, however often, and never dead for its attempts") {
  config::Retry retry;
  retry.max_attempts = 3;
  const auto run = run_of(lease_of({5, 6, 7}, 1, 2), retry);  // another failure is the last
  SettlementBuilder builder{run};
  FailedEvent soon = with_delay(0, milliseconds{250}, "not_yet"), later = failed_at(1, "not_yet", "busy");
  soon.verdict.kind = later.verdict.kind = event::Verdict::Kind::defer;
  builder.add({run, 0, 3, {soon, later, failed_at(2)}});
  const RunSettlement out = builder.take(0.25);
  REQUIRE(out.settlement.retries.size() == 2);
  CHECK(out.settlement.retries[0].is_deferred);
  CHECK(out.settlement.retries[0].offsets == set({5}));
  CHECK(out.settlement.retries[0].delay == milliseconds{250});
  CHECK(out.settlement.retries[1].is_deferred);
  CHECK(out.settlement.retries[1].delay == backoff_for(retry, 1, 0.25));  // the first delay, at any attempt
  CHECK(out.settlement.retries[1].last_error == "not_yet: busy");
  REQUIRE(out.settlement.dead.size() == 1);
  CHECK(out.settlement.dead[0].offset == 7);
  CHECK(out.settlement.failures.size() == 1);
  CHECK(out.counts.deferred == 2);
  CHECK(out.counts.retried == 0);
  CHECK(out.counts.events() == 3);
}

TEST_CASE("a deferred event shares no row with a failed event, although both wait as long") {
  const auto run = run_of(lease_of({5, 6}));
  SettlementBuilder builder{run};
  FailedEvent deferred = with_delay(0, milliseconds{250}, "busy");
  deferred.verdict.kind = event::Verdict::Kind::defer;
  builder.add({run, 0, 2, {deferred, with_delay(1, milliseconds{250}, "busy")}});
  CHECK(builder.take(0.5).settlement.retries.size() == 2);
}

TEST_CASE("an event that has expired is not deferred again, but expires without an attempt") {
  auto lease = lease_of({5});
  const auto policy = std::make_shared<const config::Policy>(
      config::Policy{.retry = {}, .expire_after = std::chrono::hours{1}});
  const auto run = std::make_shared<Run>(std::move(lease), policy, std::make_shared<test::RecordingOwner>(), "receipt");
  SettlementBuilder builder{run};
  FailedEvent deferred = with_delay(0, milliseconds{std::chrono::hours{2}}, "");
  deferred.verdict.kind = event::Verdict::Kind::defer;
  builder.add({run, 0, 1, {deferred}});
  const RunSettlement out = builder.take(0.5);
  REQUIRE(out.settlement.dead.size() == 1);
  CHECK(out.settlement.dead[0].state == inbox::DeadEvent::State::expired);
  CHECK(out.settlement.retries.empty());
  CHECK(out.settlement.failures.empty());
  CHECK(out.counts.expired == 1);
}

TEST_CASE("an event that fails its last attempt is dead, and its failure is still recorded") {
  config::Retry retry;
  retry.max_attempts = 3;
  const auto run = run_of(lease_of({5, 6}, 1, 2), retry);
  SettlementBuilder builder{run};
  builder.add({run, 0, 2, {failed_at(1, "timeout", "again")}});
  const RunSettlement out = builder.take(0.5);
  CHECK(out.settlement.retries.empty());
  REQUIRE(out.settlement.dead.size() == 1);
  CHECK(out.settlement.dead[0].offset == 6);
  CHECK(out.settlement.dead[0].event_id == run->lease.events[1]->event_id);
  REQUIRE(out.settlement.failures.size() == 1);
  CHECK(out.settlement.failures[0].attempt == 3);
  CHECK(out.counts.dead == 1);
}

TEST_CASE("a handler's texts are made fit for the database: no control characters, valid UTF-8, a limited length") {
  const auto run = run_of(lease_of({5, 6}));
  SettlementBuilder builder{run};
  const std::string nasty = std::string{"a\0b\xff\n", 5} + std::string(10'000, '\x01');
  builder.add({run, 0, 2, {failed_at(0, nasty, nasty), failed_at(1, "", "")}});
  const RunSettlement out = builder.take(0.5);
  const auto& failure = out.settlement.failures[0];
  CHECK(failure.error_class.size() <= 100);
  CHECK(failure.message.size() <= 2'000);
  CHECK(failure.message.starts_with("a\\x00b\\xff\n"));
  CHECK(failure.message.find('\0') == std::string::npos);
  CHECK(out.settlement.failures[1].error_class == "failed");
}

TEST_CASE("a thousand done events cost as much as a single event: they become a range") {
  const auto run = run_of(lease_of(offsets_from(0, 1'000)));
  SettlementBuilder builder{run};
  builder.add({run, 500, 999, {}});
  builder.add({run, 0, 500, {}});
  CHECK(builder.take(0.5).settlement.done.ranges() == std::vector<event::OffsetRange>{{0, 999}});
}

// ---- in a sequence

namespace {

using config::OnFailure;
using Key = std::optional<inbox::FailedKey>;
using Indexes = std::vector<std::size_t>;
constexpr envelope::KeyHash a = 11, b = 22;

/// Events 10, 11, … of a sequence with these order keys; the text of a key is in the record's key.
std::shared_ptr<Run> keyed_run(const std::vector<envelope::KeyHash>& keys, OnFailure on_failure = OnFailure::block,
                               std::int32_t attempts = 0, std::string_view text = "k") {
  auto lease = lease_of(offsets_from(10, keys.size()), 1, attempts);
  lease.sequence = 3;
  auto block = std::make_shared<inbox::EventBlock>();
  block->events.reserve(lease.events.size());
  for (const event::Event*& each : lease.events) {
    block->events.push_back(event::copy(*each, block->arena));
    block->events.back().key = block->arena.copy(text);
    each = &block->events.back();
  }
  lease.block = block;
  config::Retry retry;
  retry.max_attempts = 5;
  const auto run = run_of(std::move(lease), retry);
  run->keys = keys;
  run->on_failure = on_failure;
  return run;
}

FailedEvent dead_at(std::size_t index) {
  FailedEvent out = failed_at(index);
  out.verdict.kind = event::Verdict::Kind::dead;
  return out;
}

FailedEvent not_called(std::size_t index, FailedEvent::Kind kind = FailedEvent::Kind::waits) {
  return {index, {}, milliseconds{0}, kind};
}

RunSettlement settled(const std::shared_ptr<Run>& run, std::vector<FailedEvent> failed) {
  SettlementBuilder builder{run};
  builder.add({run, 0, run->size(), std::move(failed)});
  return builder.take(0.5);
}

}  // namespace

TEST_CASE("each failed event with an order key has a retry of its own, the first of its lane") {
  const auto run = keyed_run({a, b, envelope::no_order_key, envelope::no_order_key, a});
  const RunSettlement out = settled(run, {failed_at(0), failed_at(1), failed_at(2), failed_at(3)});
  const auto& retries = out.settlement.retries;
  REQUIRE(retries.size() == 3);
  CHECK(retries[0].key == Key{{a, "k"}});
  CHECK(retries[0].offsets == set({10}));
  CHECK(retries[1].key == Key{{b, "k"}});
  CHECK(retries[1].offsets == set({11}));
  CHECK(retries[2].key == std::nullopt);
  CHECK(retries[2].offsets == set({12, 13}));
  CHECK(out.keys.blocking == Indexes{0, 1});
  CHECK(out.keys.finished == set({2, 3, 4}));
  CHECK(out.counts.retried == 4);
  CHECK(out.counts.done == 1);
}

TEST_CASE("failed events that are skipped begin no lane: they are retried together, in no order") {
  const auto run = keyed_run({a, a, b}, OnFailure::skip);
  const RunSettlement out = settled(run, {failed_at(0), failed_at(1), dead_at(2)});
  REQUIRE(out.settlement.retries.size() == 1);
  CHECK(out.settlement.retries[0].key == std::nullopt);
  CHECK(out.settlement.retries[0].offsets == set({10, 11}));
  REQUIRE(out.settlement.dead.size() == 1);
  CHECK(out.settlement.dead[0].state == inbox::DeadEvent::State::dead);
  CHECK(out.keys.finished == set({0, 1, 2}));
  CHECK(out.keys.blocking.empty());
  CHECK(out.keys.parking.empty());
}

TEST_CASE("a dead letter parks its key only if so configured, and only if it has a key") {
  const std::vector<envelope::KeyHash> keys{a, envelope::no_order_key};
  using State = inbox::DeadEvent::State;
  SECTION("park") {
    const RunSettlement out = settled(keyed_run(keys, OnFailure::park), {dead_at(0), dead_at(1)});
    CHECK(out.settlement.dead.at(0).state == State::parks);
    CHECK(out.settlement.dead.at(0).key == Key{{a, "k"}});
    CHECK(out.settlement.dead.at(1).state == State::dead);
    CHECK(out.settlement.dead.at(1).key == std::nullopt);
    CHECK(out.keys.parking == Indexes{0});
    CHECK(out.keys.finished == set({1}));
  }
  SECTION("after the last attempt") {
    const RunSettlement out = settled(keyed_run({a}, OnFailure::park, 4), {failed_at(0)});
    CHECK(out.settlement.dead.at(0).state == State::parks);
    CHECK(out.settlement.failures.size() == 1);
  }
  SECTION("block") {
    const RunSettlement out = settled(keyed_run(keys), {dead_at(0), dead_at(1)});
    CHECK(out.settlement.dead.at(0).state == State::dead);
    CHECK(out.settlement.dead.at(0).key == Key{{a, "k"}});
    CHECK(out.keys.parking.empty());
    CHECK(out.keys.finished == set({0, 1}));
  }
}

TEST_CASE("events that were not called wait in one group for each lane, without an attempt") {
  const auto run = keyed_run({a, b, a, b, a});
  const RunSettlement out = settled(run, {failed_at(0), not_called(1), not_called(2), not_called(4)});
  REQUIRE(out.settlement.waiting.size() == 2);
  for (const auto& lane : out.settlement.waiting) {
    CHECK(lane.offsets == (lane.lane == a ? set({12, 14}) : set({11})));
  }
  CHECK(out.settlement.failures.size() == 1);
  CHECK(out.keys.waiting == Indexes{1, 2, 4});
  CHECK(out.keys.blocking == Indexes{0});
  CHECK(out.counts.waiting == 3);
  CHECK(out.counts.events() == 5);
}

TEST_CASE("events that were parked without a call keep their key") {
  const RunSettlement out =
      settled(keyed_run({a, a}, OnFailure::park), {dead_at(0), not_called(1, FailedEvent::Kind::parked)});
  REQUIRE(out.settlement.dead.size() == 2);
  CHECK(out.settlement.dead[1].state == inbox::DeadEvent::State::parked);
  CHECK(out.settlement.dead[1].offset == 11);
  CHECK(out.settlement.dead[1].key == Key{{a, "k"}});
  CHECK(out.settlement.waiting.empty());
  CHECK(out.keys.waiting == Indexes{1});
  CHECK(out.counts.dead == 1);
}

TEST_CASE("the settlement of a lane's run says so") {
  auto lease = lease_of({10});
  lease.sequence = 3;
  lease.lane = a;
  const auto run = run_of(std::move(lease));
  run->keys = {a};
  CHECK(settled(run, {}).settlement.is_of_lane);
  CHECK_FALSE(settled(keyed_run({a}), {}).settlement.is_of_lane);
}

TEST_CASE("a long order key is recorded shortened") {
  const std::string text(1'000, 'x');
  const RunSettlement out = settled(keyed_run({a}, OnFailure::block, 0, text), {failed_at(0)});
  CHECK(out.settlement.retries.at(0).key == Key{{a, text.substr(0, 256)}});
}

TEST_CASE("an event without an order key that shares a key has no text of it") {
  const auto run = keyed_run({a});
  config::Handler handler;
  handler.order_by = "subject";
  handler.missing_key = config::MissingKey::shared;
  run->key_rule = envelope::OrderKeyRule{handler};
  CHECK(settled(run, {failed_at(0)}).settlement.retries.at(0).key == Key{{a, std::nullopt}});
}

}  // namespace inboxd::settler
