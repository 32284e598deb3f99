#include "queue/early_events.hpp"

#include <catch2/catch_test_macros.hpp>

#include "settler/settlement.hpp"
#include "unit/queue/keyed_runs.hpp"

namespace inboxd::dispatcher {
namespace {

constexpr event::Microseconds now = 1'000'000'000;

/// Events of the keys `names`; upper case: before their deliver_at, a second from now. `-`, `+`: without a key.
std::shared_ptr<settler::Run> run_of_names(std::string_view names, bool is_found_due = false) {
  std::vector<envelope::KeyHash> keys;
  for (const char name : names) {
    const bool is_a = name == 'a' || name == 'A', is_b = name == 'b' || name == 'B';
    keys.push_back(is_a ? test::key_a : is_b ? test::key_b : envelope::no_order_key);
  }
  auto lease = test::with_events(test::lease_of(test::offsets_from(10, names.size())),
                                 [&](event::Event& event, std::size_t i, auto&) {
                                   const bool early = names[i] == 'A' || names[i] == 'B' || names[i] == '+';
                                   event.deliver_at = now + (early ? 1'000'000 : 0);
                                   event.may_be_early = !is_found_due;
                                 });
  lease.sequence = test::sequence_of_runs;
  auto run = test::run_of(std::move(lease));
  run->keys = std::move(keys);
  return run;
}

/// What becomes of each event: c called, e early, w waits, p put back.
std::string fates(std::string_view names, bool is_found_due = false) {
  std::vector<RunSlice> slices{{run_of_names(names, is_found_due), 0, names.size(), false, true}};
  const EarlyEvents early = take_out_early(slices, now);
  std::string out(names.size(), '?');
  for (const RunSlice& slice : slices) out.replace(slice.first, slice.end - slice.first, slice.end - slice.first, 'c');
  for (const RunSlice& slice : early.put_back) {
    out.replace(slice.first, slice.end - slice.first, slice.end - slice.first, 'p');
  }
  for (const settler::Report& report : early.reports) {
    CHECK(report.failed.size() == report.end - report.first);
    for (const settler::FailedEvent& failed : report.failed) {
      out[failed.index] = failed.kind == settler::FailedEvent::Kind::early ? 'e' : 'w';
    }
  }
  return out;
}

}  // namespace

TEST_CASE("an event before its deliver_at is not called, and later events of its key wait") {
  CHECK(fates("abab") == "cccc");
  CHECK(fates("AbaB") == "ecwp");
  CHECK(fates("AAbba") == "ewccw");
  CHECK(fates("-+-A") == "cece");
}

TEST_CASE("behind a called event of its key an early event is put back until that event is recorded") {
  CHECK(fates("aAa") == "cpp");
  CHECK(fates("aAbB") == "cpcp");
}

TEST_CASE("an event that the database found due is called, even if the daemon's clock is behind") {
  CHECK(fates("A+", true) == "cc");
}

TEST_CASE("later events of the key in another run are put back, since their outcomes may be recorded earlier") {
  const auto first = run_of_names("Ab");
  const auto second = run_of_names("aab");
  std::vector<RunSlice> slices{{first, 0, 2, false, true}, {second, 0, 3, false, false}};
  const EarlyEvents early = take_out_early(slices, now);
  REQUIRE(early.reports.size() == 1);
  CHECK(early.reports[0].run == first);
  CHECK(early.reports[0].end == 1);
  REQUIRE(early.put_back.size() == 1);
  CHECK(early.put_back[0].run == second);
  CHECK(early.put_back[0].size() == 2);
  REQUIRE(slices.size() == 2);
  CHECK(slices[1].run == second);
  CHECK(slices[1].first == 2);
}

TEST_CASE("a call that loses its first events begins with the next of its events") {
  const auto run = run_of_names("a"), early = run_of_names("B"), rest = run_of_names("-");
  std::vector<RunSlice> slices{{run, 0, 1, false, true}, {early, 0, 1, false, true}, {rest, 0, 1, false, false}};
  take_out_early(slices, now);
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].begins_call);
  CHECK(slices[1].begins_call);
}

TEST_CASE("the rest of a slice stays a single call") {
  const auto run = run_of_names("AbAb");
  std::vector<RunSlice> slices{{run, 0, 4, false, true}};
  take_out_early(slices, now);
  REQUIRE(slices.size() == 2);
  CHECK(slices[0].begins_call);
  CHECK_FALSE(slices[1].begins_call);
}

TEST_CASE("an early event is due at its time without an attempt and blocks its key, also with on_failure: skip") {
  struct Owner final : settler::RunOwner {
    void settled(const settler::Run& /*run*/, std::int64_t /*events*/) override {}
    void lost(const settler::Run& /*run*/, std::int64_t /*events*/) override {}
    void retry_at(std::chrono::steady_clock::time_point /*due*/) override {}
    event::Microseconds now() const override { return dispatcher::now; }
  };
  auto lease = test::with_events(
      test::lease_of(test::offsets_from(10, 3)),
      [](event::Event& event, std::size_t, auto&) { event.deliver_at = dispatcher::now + 1'500'001; });
  lease.sequence = test::sequence_of_runs;
  const auto run = test::run_of(std::move(lease), {}, std::make_shared<Owner>());
  run->keys = {test::key_a, envelope::no_order_key, envelope::no_order_key};
  run->on_failure = config::OnFailure::skip;
  settler::SettlementBuilder builder{run};
  settler::Report report{run, 0, 3, {}};
  using Kind = settler::FailedEvent::Kind;
  for (std::size_t i = 0; i < 3; ++i) report.failed.push_back({i, {}, std::chrono::milliseconds{0}, Kind::early});
  builder.add(std::move(report));
  const auto out = builder.take(0.5);
  REQUIRE(out.settlement.retries.size() == 2);
  const auto& blocked = out.settlement.retries[0];
  CHECK(blocked.delay == std::chrono::milliseconds{1'501});
  CHECK((blocked.is_postponed() && blocked.key && blocked.key->lane == test::key_a));
  CHECK(out.settlement.retries[1].offsets.count() == 2);
  CHECK_FALSE(out.settlement.retries[1].key);
  CHECK(out.keys.blocking == std::vector<std::size_t>{0});
  CHECK(out.counts.deferred == 3);
  CHECK(out.settlement.failures.empty());
}

}  // namespace inboxd::dispatcher
