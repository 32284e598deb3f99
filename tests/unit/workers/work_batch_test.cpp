#include "workers/work_batch.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "unit/queue/keyed_runs.hpp"

namespace inboxd::dispatcher {
namespace {

using namespace std::chrono_literals;
using namespace test;
using config::OnFailure;
using event::Verdict;
using Cancelled = WorkBatch::Cancelled;
using Kind = settler::FailedEvent::Kind;
using Kinds = std::vector<Kind>;
using Offsets = std::vector<std::int64_t>;
using Run = std::shared_ptr<settler::Run>;
using Verdicts = std::vector<Verdict>;

constexpr auto charged = Cancelled::failed;
const Verdict dead{Verdict::Kind::dead, std::nullopt, "bad", "m"};

Verdict retry(std::string error_class) { return {Verdict::Kind::retry, std::nullopt, std::move(error_class), "m"}; }
const Verdict cancelled = retry(std::string{event::cancelled_class});
Verdicts done(std::size_t count) { return Verdicts(count); }

Run run_from(std::int64_t first, std::size_t count, std::int64_t id = 1) {
  return run_of(lease_of(offsets_from(first, count), id));
}
/// A run of the key a whose failures have that effect.
test::KeyedRun with(OnFailure on_failure) {
  test::KeyedRun out{{10, 11}, {test::key_a, test::key_a}};
  out.on_failure = on_failure;
  return out;
}

Offsets offsets_of(const std::vector<RunSlice>& slices) {
  Offsets out;
  for (const RunSlice& slice : slices) {
    for (std::size_t i = slice.first; i < slice.end; ++i) out.push_back(slice.run->lease.events[i]->offset);
  }
  return out;
}

struct Batch {
  explicit Batch(std::vector<RunSlice> slices) : of{std::move(slices)} {}
  explicit Batch(const Run& run) : of{{{run, 0, run->size()}}} {}

  /// The next call.
  void begin(const Offsets& offsets, std::size_t most) {
    REQUIRE(of.begin_call(most));
    std::vector<plugin::Delivered> events;
    of.deliver(events);
    Offsets called;
    for (const auto& each : events) called.push_back(each.event->offset);
    CHECK(called == offsets);
  }
  /// The next call, and its end with these verdicts.
  void call(const Offsets& offsets, Verdicts verdicts, std::size_t most = 1, Cancelled as = charged) {
    begin(offsets, most);
    of.end_call(std::move(verdicts), 1ms, as);
  }
  void check_ended() { CHECK_FALSE(of.begin_call(1)); }
  /// The only report: of events [first, end), of which these failed.
  void reports(std::size_t first, std::size_t end, const std::vector<std::size_t>& failed, const Kinds& kinds = {}) {
    const auto all = of.take_finished();
    REQUIRE(all.size() == 1);
    check(all[0], first, end, failed, kinds);
  }
  static void check(const settler::Report& report, std::size_t first, std::size_t end,
                    const std::vector<std::size_t>& failed, Kinds kinds = {}) {
    CHECK(report.first == first);
    CHECK(report.end == end);
    std::vector<std::size_t> indices;
    Kinds its_kinds;
    for (const auto& each : report.failed) {
      indices.push_back(each.index);
      its_kinds.push_back(each.kind);
    }
    CHECK(indices == failed);
    kinds.resize(failed.size(), Kind::failed);
    CHECK(its_kinds == kinds);
  }
  Offsets rest() { return offsets_of(of.take_rest()); }

  WorkBatch of;
};

}  // namespace

TEST_CASE("calls of one event go through a batch in order, and give one report for each run") {
  Batch batch{run_from(10, 3)};
  for (std::int64_t offset = 10; offset < 13; ++offset) batch.call({offset}, done(1));
  batch.check_ended();
  batch.reports(0, 3, {});
  CHECK(batch.rest().empty());
}

TEST_CASE("a call spans runs, and each run gets its own report") {
  Batch batch{{{run_of(lease_of({1, 2}, 1, 4)), 1, 2}, {run_from(50, 1, 2), 0, 1}, {run_from(7, 3, 3), 0, 3}}};
  batch.begin({2, 50, 7, 8}, 4);
  CHECK(batch.of.call_size() == 4);
  std::vector<plugin::Delivered> events;
  batch.of.deliver(events);
  CHECK(events[0].attempt == 5);
  CHECK(events[1].attempt == 1);
  CHECK(events[0].topic == "orders");
  CHECK(events[0].partition == 2);
  batch.of.end_call({{}, retry("timeout"), {}, retry("busy")}, 7ms, charged);
  const auto reports = batch.of.take_finished();
  REQUIRE(reports.size() == 3);
  Batch::check(reports[0], 1, 2, {});
  Batch::check(reports[1], 0, 1, {0});
  CHECK(reports[1].failed[0].duration == 7ms);
  Batch::check(reports[2], 0, 2, {1});
  CHECK(reports[2].failed[0].verdict.error_class == "busy");
  batch.begin({9}, 4);
}

TEST_CASE("missing verdicts are failures") {
  Batch batch{run_from(1, 2)};
  batch.call({1, 2}, done(1), 2);
  const auto reports = batch.of.take_finished();
  Batch::check(reports.at(0), 0, 2, {1});
  CHECK(reports[0].failed[0].verdict.error_class == "no-verdict");
}

TEST_CASE("the handler's rules change a verdict by its class") {
  using Then = config::RetryRule::Then;
  config::Retry policy;
  policy.rules = {{"hopeless", Then::dead}, {"gave-up", Then::retry}, {"failed", Then::dead}};
  Batch batch{run_of(lease_of(offsets_from(0, 4)), policy)};
  const Verdict gave_up{Verdict::Kind::dead, std::nullopt, "gave-up", "m"};
  batch.call(offsets_from(0, 4), {retry("hopeless"), gave_up, retry(""), retry("other")}, 4);
  const auto reports = batch.of.take_finished();
  std::vector<Verdict::Kind> kinds;
  for (const auto& failed : reports.at(0).failed) kinds.push_back(failed.verdict.kind);
  CHECK(kinds == std::vector{Verdict::Kind::dead, Verdict::Kind::retry, Verdict::Kind::dead, Verdict::Kind::retry});
  CHECK_FALSE(batch.of.paused_by());
}

TEST_CASE("after a verdict or an error that pauses the handler no further call begins and nothing is charged") {
  config::Retry policy;
  policy.rules = {{"away", config::RetryRule::Then::pause}};
  const auto [verdict, paused_by] = GENERATE(table<Verdict, std::string>({
      {{Verdict::Kind::away, 700ms, "http.410", "gone"}, ""},
      {{Verdict::Kind::pause, 700ms, "http.410", "gone"}, "http.410: gone (event "},
      {{Verdict::Kind::retry, std::nullopt, "away", "m"}, "retry.rules: away: m (event "},
  }));
  Batch batch{run_of(lease_of(offsets_from(0, 4)), policy)};
  batch.call({0, 1}, {{}, verdict}, 2);
  CHECK(batch.of.away_for() == (verdict.kind == Verdict::Kind::away ? std::optional{700ms} : std::nullopt));
  CHECK(batch.of.paused_by().value_or("").starts_with(paused_by));
  batch.check_ended();
  batch.reports(0, 1, {});
  CHECK(batch.of.take_rest().size() == 2);
}

TEST_CASE("the rest behind a running call can be taken away without disturbing the call") {
  Batch batch{{{run_from(0, 5), 0, 5}, {run_from(10, 5, 2), 0, 5}}};
  batch.call({0, 1}, done(2), 2);
  batch.begin({2, 3}, 2);
  batch.reports(0, 2, {});
  CHECK(batch.rest() == Offsets{4, 10, 11, 12, 13, 14});
  batch.of.end_call(done(2), 1ms, charged);
  batch.check_ended();
  batch.reports(2, 4, {});
  CHECK(batch.rest().empty());
}

TEST_CASE("a call that did not return charges its events, or the first one alone") {
  const bool keeps_first = GENERATE(false, true);
  Batch batch{run_from(0, 4)};
  batch.begin({0, 1}, 2);
  if (keeps_first) batch.of.keep_first();
  batch.of.fail_call(retry("deadline"), 99ms);
  batch.reports(0, keeps_first ? 1 : 2, keeps_first ? std::vector<std::size_t>{0} : std::vector<std::size_t>{0, 1});
  CHECK(batch.rest() == (keeps_first ? Offsets{1, 2, 3} : Offsets{2, 3}));
}

TEST_CASE("a call that did not return is split uncharged, to find the slow event") {
  const auto slow = run_from(0, 6), other = run_from(10, 2, 2);
  Batch batch{{{other, 0, 1}, {slow, 0, 6}}};
  batch.begin({10, 0, 1}, 3);
  const auto split = batch.of.split_call();
  REQUIRE(split.size() == 2);
  CHECK((split[0].one_by_one && split[1].one_by_one));
  CHECK(split[1].size() == 2);
  const auto rest = batch.of.take_rest();
  REQUIRE(rest.size() == 1);
  CHECK_FALSE(rest[0].one_by_one);  // the same run, but not that call

  Batch again{{{other, 1, 2}, split[1], rest[0]}};
  for (const Offsets& offsets : {Offsets{11}, Offsets{0}, Offsets{1}, Offsets{2, 3, 4, 5}}) {
    again.call(offsets, done(offsets.size()), 10);
  }
  again.check_ended();
}

TEST_CASE("events that a cancelled handler did not come to are interrupted, or called one by one after a slow call") {
  const auto how = GENERATE(Cancelled::interrupted, Cancelled::one_by_one, charged);
  Batch batch{run_from(0, 4)};
  batch.call(offsets_from(0, 4), {{}, cancelled, retry("timeout"), {}}, 4, how);
  if (how == charged) {  // a call that was not cancelled
    batch.reports(0, 4, {1, 2});
    CHECK(batch.rest().empty());
    return;
  }
  const auto reports = batch.of.take_finished();
  REQUIRE(reports.size() == 2);
  Batch::check(reports[0], 0, 1, {});
  Batch::check(reports[1], 2, 4, {2});
  const auto rest = batch.of.take_rest();
  REQUIRE(offsets_of(rest) == Offsets{1});
  CHECK(rest[0].one_by_one == (how == Cancelled::one_by_one));
  if (how == Cancelled::interrupted) return;
  Batch alone{rest};
  alone.call({1}, {cancelled}, 4, how);
  alone.reports(1, 2, {1});
  CHECK(alone.rest().empty());
}

// ---- in a sequence

TEST_CASE("events of a call behind a failed one of their key wait, whatever their verdict") {
  Batch batch{run_of_keys(10, "aab")};
  SECTION("with verdicts") {
    batch.call({10, 11, 12}, {retry("timeout"), dead, {}}, 3);
    batch.reports(0, 3, {0, 1}, {Kind::failed, Kind::waits});
  }
  SECTION("without verdicts") {
    batch.call({10, 11, 12}, {}, 3);
    batch.reports(0, 3, {0, 1, 2}, {Kind::failed, Kind::waits, Kind::failed});
  }
  SECTION("in a call that did not return") {
    batch.begin({10, 11, 12}, 3);
    batch.of.fail_call(retry("deadline"), 99ms);
    batch.reports(0, 3, {0, 1, 2}, {Kind::failed, Kind::waits, Kind::failed});
  }
}

TEST_CASE("later events of a dead one run, are parked, or skip it, as configured") {
  auto from = with(GENERATE(OnFailure::block, OnFailure::park, OnFailure::skip));
  from.max_attempts = GENERATE(1, 5);  // dead after its last attempt, or by its verdict
  Batch batch{run_in_order(from)};
  batch.call({10}, {from.max_attempts == 1 ? retry("timeout") : dead});
  if (from.on_failure == OnFailure::park) {
    batch.check_ended();
    batch.reports(0, 2, {0, 1}, {Kind::failed, Kind::parked});
  } else {
    batch.call({11}, done(1));
    batch.reports(0, 2, {0});
  }
}

TEST_CASE("a failure that is skipped stops no key, and one without an order key stops no other") {
  Batch batch{GENERATE(run_in_order(with(OnFailure::skip)), run_of_keys(10, "--"))};
  SECTION("in calls of their own") {
    batch.call({10}, {retry("timeout")});
    batch.call({11}, done(1));
  }
  SECTION("in one call") {
    batch.begin({10, 11}, 2);
    CHECK_FALSE(batch.of.cut_out_of_order({retry("x"), {}}));
  }
}

TEST_CASE("a rewound batch calls the later events of a key that failed after the last report") {
  Batch batch{run_of_keys(10, "abab")};
  batch.call({10}, {retry("timeout")});
  REQUIRE(batch.of.take_finished().size() == 1);
  batch.call({11}, {retry("busy")});
  batch.of.rewind();
  batch.call({11}, done(1));
  batch.call({13}, done(1));
  batch.check_ended();
  batch.reports(1, 4, {2}, {Kind::waits});  // the key that failed before the report stays stopped
}

TEST_CASE("an event that was done behind a failed one of its key begins another call when its call runs again") {
  Batch batch{run_of_keys(10, "abaa")};
  batch.begin({10, 11, 12, 13}, 4);
  CHECK_FALSE(batch.of.cut_out_of_order({{}, retry("x"), {}, retry("x")}));
  CHECK_FALSE(batch.of.cut_out_of_order({retry("x"), {}, retry("x"), retry("x")}));
  REQUIRE(batch.of.cut_out_of_order({retry("x"), {}, {}, {}}));
  batch.of.rewind();
  batch.call({10, 11}, {GENERATE(Verdict{}, retry("x")), {}}, 4);
  const bool is_done = batch.of.begin_call(4);
  if (is_done) batch.of.end_call(done(1), 1ms, charged);
  if (is_done) batch.call({13}, done(1), 4);
  batch.check_ended();
  is_done ? batch.reports(0, 4, {}) : batch.reports(0, 4, {0, 2, 3}, {Kind::failed, Kind::waits, Kind::waits});
}

TEST_CASE("events taken away behind a running call stay away, also if their key fails or is interrupted in that call") {
  const bool interrupts = GENERATE(false, true);
  Batch batch{run_of_keys(10, "aaa")};
  batch.begin({10}, 1);
  CHECK(batch.rest() == Offsets{11, 12});  // another worker takes them now
  batch.of.end_call({interrupts ? cancelled : retry("bad")}, 1ms, interrupts ? Cancelled::interrupted : charged);
  batch.check_ended();
  if (interrupts) CHECK(batch.of.take_finished().empty());
  if (!interrupts) batch.reports(0, 1, {0});
  CHECK(batch.rest() == (interrupts ? Offsets{10} : Offsets{}));
}

TEST_CASE("a slice that begins a call ends the one before it") {
  const auto run = run_of_keys(10, "abab");
  Batch batch{{{run, 0, 1}, {run, 1, 2}, {run, 2, 4, false, true}}};
  batch.call({10, 11}, done(2), 10);
  batch.call({12, 13}, done(2), 10);
  batch.check_ended();
}

TEST_CASE("events are not called once their lease has ended or is lost, in order or not") {
  const auto run = GENERATE(run_of_keys(10, "aa"), run_from(10, 2));
  const auto now = std::chrono::steady_clock::now();
  run->leased_until = now + 1ms;
  Batch batch{run};
  CHECK_FALSE(batch.of.is_next_taken(now));
  batch.call({10}, done(1));
  CHECK(batch.of.is_next_taken(now + 1ms));
  run->lost = true;
  CHECK(batch.of.is_next_taken(now));
  batch.call({11}, done(1));
  CHECK_FALSE(batch.of.is_next_taken(now));
}

}  // namespace inboxd::dispatcher
