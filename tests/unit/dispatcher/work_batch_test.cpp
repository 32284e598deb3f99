#include "dispatcher/work_batch.hpp"

#include <catch2/catch_test_macros.hpp>

#include "unit/settler/runs.hpp"

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

}  // namespace inboxd::dispatcher
