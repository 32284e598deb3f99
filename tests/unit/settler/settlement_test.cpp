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

TEST_CASE("events of a run that failed alike become one delivery with one due time, at any jitter") {
  const auto run = run_of(lease_of(offsets_from(0, 6)));
  SettlementBuilder builder{run};
  builder.add({run, 3, 6, {failed_at(3, "a"), failed_at(5, "b")}});
  builder.add({run, 0, 3, {failed_at(1, "a")}});
  const RunSettlement out = builder.take(0.123);
  REQUIRE(out.settlement.retries.size() == 1);
  CHECK(out.settlement.retries[0].offsets == set({1, 3, 5}));
  CHECK(out.settlement.retries[0].delay == backoff_for(run->retry, 1, 0.123));
  CHECK(out.settlement.failures.size() == 3);
  CHECK_FALSE(out.settlement.retries[0].last_error);  // two of "a", one of "b": no error is common to all
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
  CHECK(failure.message.starts_with("a\\x00b\\xff\\n"));
  CHECK(failure.message.find('\0') == std::string::npos);
  CHECK(out.settlement.failures[1].error_class == "failed");
}

TEST_CASE("a thousand done events cost as much as one: they become a range") {
  const auto run = run_of(lease_of(offsets_from(0, 1'000)));
  SettlementBuilder builder{run};
  builder.add({run, 500, 999, {}});
  builder.add({run, 0, 500, {}});
  CHECK(builder.take(0.5).settlement.done.ranges() == std::vector<event::OffsetRange>{{0, 999}});
}

}  // namespace inboxd::settler
