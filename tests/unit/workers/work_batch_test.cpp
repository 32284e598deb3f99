#include "workers/work_batch.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/queue/keyed_runs.hpp"

namespace inboxd::dispatcher {
namespace {

using event::Verdict;
using std::chrono::milliseconds;
using test::lease_of;
using test::offsets_from;
using test::run_of;

std::vector<Verdict> done(std::size_t count) { return std::vector<Verdict>(count); }
Verdict retry(std::string error_class) { return {Verdict::Kind::retry, std::nullopt, std::move(error_class), "m"}; }
constexpr auto charged = WorkBatch::Cancelled::failed;

std::vector<std::int64_t> delivered(const WorkBatch& batch) {
  std::vector<plugin::Delivered> events;
  batch.deliver(events);
  std::vector<std::int64_t> out;
  for (const auto& each : events) out.push_back(each.event->offset);
  return out;
}

using Offsets = std::vector<std::int64_t>;
using Kind = settler::FailedEvent::Kind;
using test::run_in_order;

constexpr envelope::KeyHash a = 11, b = 22;
const Verdict dead{Verdict::Kind::dead, std::nullopt, "bad", "m"};

std::vector<Kind> kinds_of(const settler::Report& report) {
  std::vector<Kind> out;
  for (const auto& failed : report.failed) out.push_back(failed.kind);
  return out;
}
using Kinds = std::vector<Kind>;

/// The next call, and its end with these verdicts.
void call(WorkBatch& batch, const Offsets& offsets, std::vector<Verdict> verdicts, std::size_t most = 1,
          WorkBatch::Cancelled cancelled = charged) {
  REQUIRE(batch.begin_call(most));
  CHECK(delivered(batch) == offsets);
  batch.end_call(std::move(verdicts), milliseconds{1}, cancelled);
}

Offsets offsets_of(const std::vector<RunSlice>& slices) {
  Offsets out;
  for (const RunSlice& slice : slices) {
    for (std::size_t i = slice.first; i < slice.end; ++i) out.push_back(slice.run->lease.events[i]->offset);
  }
  return out;
}

}  // namespace

TEST_CASE("calls of one event go through a batch in order, and give one report for each run") {
  const auto run = run_of(lease_of(offsets_from(10, 3)));
  WorkBatch batch{{{run, 0, 3}}};
  for (std::int64_t offset = 10; offset < 13; ++offset) {
    REQUIRE(batch.begin_call(1));
    CHECK(delivered(batch) == Offsets{offset});
    batch.end_call(done(1), milliseconds{1}, charged);
  }
  CHECK_FALSE(batch.begin_call(1));
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].first == 0);
  CHECK(reports[0].end == 3);
  CHECK(reports[0].failed.empty());
  CHECK(batch.take_rest().empty());
}

TEST_CASE("a call spans runs, and each run gets its own report") {
  const auto a = run_of(lease_of({1, 2}, 1, 4));
  const auto b = run_of(lease_of({50}, 2));
  const auto c = run_of(lease_of({7, 8, 9}, 3));
  WorkBatch batch{{{a, 1, 2}, {b, 0, 1}, {c, 0, 3}}};
  REQUIRE(batch.begin_call(4));
  CHECK(batch.call_size() == 4);
  CHECK(delivered(batch) == Offsets{2, 50, 7, 8});
  std::vector<plugin::Delivered> events;
  batch.deliver(events);
  CHECK(events[0].attempt == 5);
  CHECK(events[1].attempt == 1);
  CHECK(events[0].topic == "orders");
  CHECK(events[0].partition == 2);
  auto verdicts = done(4);
  verdicts[1] = retry("timeout");
  verdicts[3] = retry("busy");
  batch.end_call(std::move(verdicts), milliseconds{7}, charged);
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 3);
  CHECK(reports[0].failed.empty());
  REQUIRE(reports[1].failed.size() == 1);
  CHECK(reports[1].failed[0].index == 0);
  CHECK(reports[1].failed[0].duration == milliseconds{7});
  CHECK(reports[2].first == 0);
  CHECK(reports[2].end == 2);
  REQUIRE(reports[2].failed.size() == 1);
  CHECK(reports[2].failed[0].index == 1);
  CHECK(reports[2].failed[0].verdict.error_class == "busy");
  REQUIRE(batch.begin_call(4));
  CHECK(delivered(batch) == Offsets{9});
}

TEST_CASE("missing verdicts are failures") {
  const auto run = run_of(lease_of({1, 2}));
  WorkBatch batch{{{run, 0, 2}}};
  REQUIRE(batch.begin_call(2));
  batch.end_call(done(1), milliseconds{1}, charged);
  const auto reports = batch.take_finished();
  REQUIRE(reports.at(0).failed.size() == 1);
  CHECK(reports[0].failed[0].index == 1);
  CHECK(reports[0].failed[0].verdict.error_class == "no-verdict");
}

TEST_CASE("the handler's rules change a verdict by its class") {
  using Then = config::RetryRule::Then;
  config::Retry policy;
  policy.rules = {{"hopeless", Then::dead}, {"gave-up", Then::retry}, {"failed", Then::dead}};
  WorkBatch batch{{{run_of(lease_of(offsets_from(0, 4)), policy), 0, 4}}};
  const Verdict gave_up{Verdict::Kind::dead, std::nullopt, "gave-up", "m"};
  call(batch, offsets_from(0, 4), {retry("hopeless"), gave_up, retry(""), retry("other")}, 4);
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 1);
  std::vector<Verdict::Kind> kinds;
  for (const auto& failed : reports[0].failed) kinds.push_back(failed.verdict.kind);
  CHECK(kinds == std::vector<Verdict::Kind>{Verdict::Kind::dead, Verdict::Kind::retry, Verdict::Kind::dead,
                                            Verdict::Kind::retry});
  CHECK_FALSE(batch.paused_by());
}

namespace {

/// Of four events, the first is done and the second has stopped the handler: it and the others are not charged.
void check_stopped(WorkBatch& batch) {
  CHECK_FALSE(batch.begin_call(2));
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].end == 1);
  CHECK(reports[0].failed.empty());
  std::int64_t rest = 0;
  for (const auto& slice : batch.take_rest()) rest += slice.size();
  CHECK(rest == 3);
}

}  // namespace

TEST_CASE("while a service is away, or after a verdict that pauses, no further call begins and nothing is charged") {
  const auto kind = GENERATE(Verdict::Kind::away, Verdict::Kind::pause);
  WorkBatch batch{{{run_of(lease_of(offsets_from(0, 4))), 0, 4}}};
  call(batch, {0, 1}, {Verdict{}, Verdict{kind, milliseconds{700}, "http.410", "gone"}}, 2);
  if (kind == Verdict::Kind::away) CHECK(batch.away_for() == milliseconds{700});
  if (kind == Verdict::Kind::pause) CHECK(batch.paused_by().value_or("").starts_with("http.410: gone (event "));
  check_stopped(batch);
}

TEST_CASE("an error that pauses the handler is not charged, and no further call begins") {
  config::Retry policy;
  policy.rules = {{"away", config::RetryRule::Then::pause}};
  WorkBatch batch{{{run_of(lease_of(offsets_from(0, 4)), policy), 0, 4}}};
  call(batch, {0, 1}, {Verdict{}, retry("away")}, 2);
  CHECK(batch.paused_by().value_or("").starts_with("retry.rules: away: m (event "));
  check_stopped(batch);
}

TEST_CASE("the rest behind a running call can be taken away without disturbing the call") {
  const auto a = run_of(lease_of(offsets_from(0, 5), 1));
  const auto b = run_of(lease_of(offsets_from(0, 5), 2));
  WorkBatch batch{{{a, 0, 5}, {b, 0, 5}}};
  REQUIRE(batch.begin_call(2));
  batch.end_call(done(2), milliseconds{1}, charged);
  REQUIRE(batch.begin_call(2));
  CHECK(batch.take_finished().size() == 1);
  const auto rest = batch.take_rest();
  REQUIRE(rest.size() == 2);
  CHECK(rest[0].run == a);
  CHECK(rest[0].first == 4);
  CHECK(rest[1].run == b);
  CHECK(rest[1].size() == 5);
  CHECK(delivered(batch) == Offsets{2, 3});
  batch.end_call(done(2), milliseconds{1}, charged);
  CHECK_FALSE(batch.begin_call(2));
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].first == 2);
  CHECK(reports[0].end == 4);
  CHECK(batch.take_rest().empty());
}

TEST_CASE("a call that did not return charges all its events") {
  const auto run = run_of(lease_of(offsets_from(0, 4)));
  WorkBatch batch{{{run, 0, 4}}};
  REQUIRE(batch.begin_call(2));
  batch.fail_call({event::Verdict::Kind::retry, std::nullopt, "deadline", "late"}, milliseconds{99});
  const auto reports = batch.take_finished();
  REQUIRE(reports.at(0).failed.size() == 2);
  CHECK(reports[0].failed[1].verdict.error_class == "deadline");
  CHECK(batch.take_rest().at(0).first == 2);
}

TEST_CASE("a call that did not return is split uncharged, to find the slow event") {
  const auto slow = run_of(lease_of(offsets_from(0, 6), 1));
  const auto other = run_of(lease_of(offsets_from(10, 2), 2));
  WorkBatch batch{{{other, 0, 1}, {slow, 0, 6}}};
  REQUIRE(batch.begin_call(3));
  const auto split = batch.split_call();
  REQUIRE(split.size() == 2);
  CHECK((split[0].one_by_one && split[1].one_by_one));
  CHECK(split[1].size() == 2);
  const auto rest = batch.take_rest();
  REQUIRE(rest.size() == 1);
  CHECK_FALSE(rest[0].one_by_one);  // the same run, but not that call

  WorkBatch again{{{other, 1, 2}, split[1], rest[0]}};
  for (const Offsets& offsets : {Offsets{11}, Offsets{0}, Offsets{1}, Offsets{2, 3, 4, 5}}) {
    REQUIRE(again.begin_call(10));
    CHECK(delivered(again) == offsets);
    again.end_call(done(offsets.size()), milliseconds{1}, charged);
  }
  CHECK_FALSE(again.begin_call(10));
}

TEST_CASE("if only a call's first event is charged, the others join the rest") {
  const auto run = run_of(lease_of(offsets_from(0, 4)));
  WorkBatch batch{{{run, 0, 4}}};
  REQUIRE(batch.begin_call(3));
  batch.keep_first();
  batch.fail_call({event::Verdict::Kind::retry, std::nullopt, "deadline", "late"}, milliseconds{99});
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].end == 1);
  CHECK(reports[0].failed.size() == 1);
  CHECK(batch.take_rest().at(0).first == 1);
}

TEST_CASE("events that a cancelled handler did not come to are interrupted, or called one by one after a slow call") {
  const auto run = run_of(lease_of(offsets_from(0, 4)));
  auto verdicts = done(4);
  verdicts[1] = retry("cancelled");
  verdicts[2] = retry("timeout");
  SECTION("at shutdown") {
    WorkBatch batch{{{run, 0, 4}}};
    REQUIRE(batch.begin_call(4));
    batch.end_call(verdicts, milliseconds{1}, WorkBatch::Cancelled::interrupted);
    const auto reports = batch.take_finished();
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].end == 1);
    CHECK(reports[0].failed.empty());
    CHECK(reports[1].first == 2);
    CHECK(reports[1].end == 4);
    CHECK(reports[1].failed.at(0).index == 2);
    const auto rest = batch.take_rest();
    REQUIRE(rest.size() == 1);
    CHECK(rest[0].first == 1);
    CHECK(rest[0].end == 2);
  }
  SECTION("after a slow call") {
    WorkBatch batch{{{run, 0, 4}}};
    REQUIRE(batch.begin_call(4));
    batch.end_call(verdicts, milliseconds{1}, WorkBatch::Cancelled::one_by_one);
    const auto reports = batch.take_finished();
    REQUIRE(reports.size() == 2);
    CHECK(reports[0].failed.empty());
    CHECK(reports[1].failed.at(0).index == 2);
    const auto rest = batch.take_rest();
    REQUIRE(rest.size() == 1);
    CHECK(rest[0].first == 1);
    CHECK(rest[0].one_by_one);

    WorkBatch alone{rest};
    REQUIRE(alone.begin_call(4));
    alone.end_call({retry("cancelled")}, milliseconds{1}, WorkBatch::Cancelled::one_by_one);
    CHECK(alone.take_finished().at(0).failed.size() == 1);
    CHECK(alone.take_rest().empty());
  }
  SECTION("a call that was not cancelled charges them") {
    WorkBatch batch{{{run, 0, 4}}};
    REQUIRE(batch.begin_call(4));
    batch.end_call(verdicts, milliseconds{1}, charged);
    CHECK(batch.take_finished().at(0).failed.size() == 2);
    CHECK(batch.take_rest().empty());
  }
}

// ---- in a sequence

TEST_CASE("later events of a failed key are not called in the same batch: they wait") {
  const auto run = run_in_order({{10, 11, 12, 13}, {a, b, a, b}});
  WorkBatch batch{{{run, 0, 4}}};
  call(batch, {10}, {retry("timeout")});
  call(batch, {11}, done(1));
  call(batch, {13}, done(1));
  CHECK_FALSE(batch.begin_call(1));
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 1);
  REQUIRE(kinds_of(reports[0]) == Kinds{Kind::failed, Kind::waits});
  CHECK(reports[0].failed[1].index == 2);
  CHECK(batch.take_rest().empty());
}

TEST_CASE("events behind a failed one of their key do not count as run, even in the same call") {
  const auto run = run_in_order({{10, 11, 12}, {a, a, b}});
  WorkBatch batch{{{run, 0, 3}}};
  call(batch, {10, 11, 12}, {retry("timeout"), dead, {}}, 3);
  const auto reports = batch.take_finished();
  REQUIRE(reports.size() == 1);
  CHECK(kinds_of(reports[0]) == Kinds{Kind::failed, Kind::waits});
}

TEST_CASE("the events of a call that did not return wait behind the first one of their key") {
  const auto run = run_in_order({{10, 11, 12}, {a, a, b}});
  WorkBatch batch{{{run, 0, 3}}};
  REQUIRE(batch.begin_call(3));
  batch.fail_call(retry("deadline"), milliseconds{99});
  CHECK(kinds_of(batch.take_finished().at(0)) == Kinds{Kind::failed, Kind::waits, Kind::failed});
}

TEST_CASE("an event without a verdict stops its key") {
  const auto run = run_in_order({{10, 11}, {a, a}});
  WorkBatch batch{{{run, 0, 2}}};
  call(batch, {10, 11}, {}, 2);
  CHECK(kinds_of(batch.take_finished().at(0)) == Kinds{Kind::failed, Kind::waits});
}

TEST_CASE("later events of a dead one run, are parked, or skip it, as configured") {
  test::KeyedRun from{{10, 11}, {a, a}};
  from.on_failure = GENERATE(config::OnFailure::block, config::OnFailure::park, config::OnFailure::skip);
  const bool parks = from.on_failure == config::OnFailure::park;
  SECTION("dead by its verdict") {}
  SECTION("dead after its last attempt") { from.max_attempts = 1; }
  const auto run = run_in_order(from);
  WorkBatch batch{{{run, 0, 2}}};
  call(batch, {10}, {from.max_attempts == 1 ? retry("timeout") : dead});
  if (parks) {
    CHECK_FALSE(batch.begin_call(1));
    CHECK(kinds_of(batch.take_finished().at(0)) == Kinds{Kind::failed, Kind::parked});
  } else {
    call(batch, {11}, done(1));
    CHECK(kinds_of(batch.take_finished().at(0)) == Kinds{Kind::failed});
  }
}

TEST_CASE("a failure that is skipped stops no key") {
  test::KeyedRun from{{10, 11}, {a, a}};
  from.on_failure = config::OnFailure::skip;
  WorkBatch batch{{{run_in_order(from), 0, 2}}};
  call(batch, {10}, {retry("timeout")});
  call(batch, {11}, done(1));
}

TEST_CASE("a failed event without an order key stops no other") {
  const auto run = run_in_order({{10, 11}, {envelope::no_order_key, envelope::no_order_key}});
  WorkBatch batch{{{run, 0, 2}}};
  call(batch, {10}, {retry("timeout")});
  call(batch, {11}, done(1));
}

TEST_CASE("a rewound batch calls the later events of a key that failed after the last report") {
  const auto run = run_in_order({{10, 11, 12, 13}, {a, b, a, b}});
  WorkBatch batch{{{run, 0, 4}}};
  call(batch, {10}, {retry("timeout")});
  REQUIRE(batch.take_finished().size() == 1);
  call(batch, {11}, {retry("busy")});
  batch.rewind();
  call(batch, {11}, done(1));
  SECTION("keys that failed before the report stay stopped") {
    call(batch, {13}, done(1));
    CHECK_FALSE(batch.begin_call(1));
    CHECK(kinds_of(batch.take_finished().at(0)) == Kinds{Kind::waits});
  }
  SECTION("events taken away were not called, either") {
    CHECK(offsets_of(batch.take_unreported()) == Offsets{11});
    call(batch, {13}, done(1));
  }
}

TEST_CASE("an event that was done behind a failed one of its key begins another call when its call runs again") {
  const auto run = run_in_order({{10, 11, 12, 13}, {a, b, a, a}});
  WorkBatch batch{{{run, 0, 4}}};
  REQUIRE(batch.begin_call(4));
  CHECK_FALSE(batch.cut_out_of_order({{}, retry("x"), {}, {}}));
  CHECK_FALSE(batch.cut_out_of_order({{}, {}, {}, retry("x")}));
  CHECK_FALSE(batch.cut_out_of_order({retry("x"), {}, retry("x"), retry("x")}));
  REQUIRE(batch.cut_out_of_order({retry("x"), {}, {}, {}}));
  batch.rewind();
  SECTION("it fails again") {
    call(batch, {10, 11}, {retry("x"), {}}, 4);
    CHECK_FALSE(batch.begin_call(4));
    CHECK(kinds_of(batch.take_finished().at(0)) == Kinds{Kind::failed, Kind::waits, Kind::waits});
  }
  SECTION("it is done now") {
    call(batch, {10, 11}, done(2), 4);
    call(batch, {12}, done(1), 4);
    call(batch, {13}, done(1), 4);
    CHECK(batch.take_finished().at(0).failed.empty());
  }
}

TEST_CASE("a failure that skips its key cuts no call") {
  test::KeyedRun from{{10, 11}, {a, a}};
  from.on_failure = config::OnFailure::skip;
  WorkBatch batch{{{run_in_order(from), 0, 2}}};
  REQUIRE(batch.begin_call(2));
  CHECK_FALSE(batch.cut_out_of_order({retry("x"), {}}));
}

TEST_CASE("later events of an interrupted key are put back with it, in order") {
  const auto run = run_in_order({{10, 11, 12, 13, 14}, {a, a, b, a, b}});
  WorkBatch batch{{{run, 0, 5}}};
  call(batch, {10, 11, 12}, {retry("cancelled"), {}, {}}, 3, WorkBatch::Cancelled::interrupted);
  call(batch, {14}, done(1), 3);
  CHECK_FALSE(batch.begin_call(3));
  Offsets settled;
  for (const auto& report : batch.take_finished()) {
    CHECK(report.failed.empty());
    for (std::size_t i = report.first; i < report.end; ++i) settled.push_back(run->lease.events[i]->offset);
  }
  CHECK(settled == Offsets{12, 14});
  CHECK(offsets_of(batch.take_rest()) == Offsets{10, 11, 13});
}

TEST_CASE("events taken away behind a running call stay away, also if their key fails or is interrupted in that call") {
  const bool interrupts = GENERATE(false, true);
  const auto run = run_in_order({{10, 11, 12}, {a, a, a}});
  WorkBatch batch{{{run, 0, 3}}};
  REQUIRE(batch.begin_call(1));
  CHECK(batch.take_rest().size() == 1);  // two events, which another worker takes now
  const Verdict verdict = retry(interrupts ? std::string{event::cancelled_class} : "bad");
  batch.end_call({verdict}, milliseconds{1}, interrupts ? WorkBatch::Cancelled::interrupted : charged);
  CHECK_FALSE(batch.begin_call(1));
  const auto reports = batch.take_finished();
  CHECK(reports.size() == (interrupts ? 0 : 1));
  if (!interrupts) CHECK(kinds_of(reports.at(0)) == Kinds{Kind::failed});
  CHECK(offsets_of(batch.take_rest()).size() == (interrupts ? 1 : 0));
}

TEST_CASE("a slice that begins a call ends the one before it") {
  const auto run = run_in_order({{10, 11, 12, 13}, {a, b, a, b}});
  WorkBatch batch{{{run, 0, 1}, {run, 1, 2}, {run, 2, 4, false, true}}};
  call(batch, {10, 11}, done(2), 10);
  call(batch, {12, 13}, done(2), 10);
  CHECK_FALSE(batch.begin_call(10));
}

TEST_CASE("events are not called once their lease has ended or is lost, in order or not") {
  const auto now = std::chrono::steady_clock::now();
  for (const auto& run : {run_in_order({{10, 11}, {a, a}}), run_of(lease_of({10, 11}))}) {
    run->leased_until = now + milliseconds{1};
    WorkBatch batch{{{run, 0, 2}}};
    CHECK_FALSE(batch.is_next_taken(now));
    call(batch, {10}, done(1));
    CHECK(batch.is_next_taken(now + milliseconds{1}));
    run->lost = true;
    CHECK(batch.is_next_taken(now));
    call(batch, {11}, done(1));
    CHECK_FALSE(batch.is_next_taken(now));
  }
}

}  // namespace inboxd::dispatcher
