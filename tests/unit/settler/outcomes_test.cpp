#include "settler/outcomes.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "unit/settler/runs.hpp"

namespace inboxd::settler {
namespace {

using test::failed_at;
using test::lease_of;
using test::offsets_from;
using test::run_of;

std::uint64_t lines(const base::Logger& log, const std::string& slug) {
  for (const auto& kind : log.kinds()) {
    if (kind.slug == slug) return kind.lines;
  }
  return 0;
}

/// A run of failed events; the first `dead` of them are dead.
struct Failing {
  Failing(std::size_t events, std::size_t dead) : run{run_of(lease_of(offsets_from(0, events)))} {
    Report report{run, 0, events, {}};
    for (std::size_t i = 0; i < events; ++i) {
      report.failed.push_back(failed_at(i));
      if (i < dead) report.failed.back().verdict.kind = event::Verdict::Kind::dead;
    }
    SettlementBuilder builder{run};
    builder.add(std::move(report));
    settlement = builder.take(0.5).settlement;
  }
  std::shared_ptr<Run> run;
  inbox::Settlement settlement;
};

}  // namespace

TEST_CASE("the first failed attempt of a handler and class within a minute is a warning") {
  base::Logger log{base::LogLevel::debug, base::LogFormat::text};
  FailureLog failures{log};
  const Failing failing{3, 0};
  const auto now = FailureLog::Clock::now();
  failures.recorded(*failing.run, failing.settlement, now);
  failures.recorded(*failing.run, failing.settlement, now + std::chrono::seconds{59});
  CHECK(lines(log, "settler.event_failed") == 1);
  failures.recorded(*failing.run, failing.settlement, now + std::chrono::seconds{60});
  CHECK(lines(log, "settler.event_failed") == 2);
  CHECK(lines(log, "settler.event_retried") == 7);
}

TEST_CASE("failures in a row count until a success, with the last error") {
  OutcomeCounts outcomes;
  const Failing failing{3, 1};
  outcomes.recorded(*failing.run, failing.settlement, {.retried = 2, .dead = 1});
  outcomes.recorded(*failing.run, failing.settlement, {.retried = 2, .dead = 1});
  auto counts = outcomes.all().begin()->second;
  CHECK(counts.failed_in_row == 6);
  CHECK(counts.failing_since.has_value());
  const auto& last = failing.settlement.failures.back();
  CHECK(counts.last_error_class == last.error_class);  // no message: it may quote the event
  CHECK(counts.last_failed_event == last.event_id.text());
  outcomes.recorded(*failing.run, failing.settlement, {.done = 1});
  counts = outcomes.all().begin()->second;
  CHECK(counts.failed_in_row == 0);
  CHECK_FALSE(counts.failing_since.has_value());
}

TEST_CASE("deferred events are neither failures nor successes") {
  OutcomeCounts outcomes;
  const Failing failing{3, 1};
  outcomes.recorded(*failing.run, failing.settlement, {.retried = 2, .dead = 1});
  outcomes.recorded(*failing.run, {}, {.deferred = 50});
  const auto counts = outcomes.all().begin()->second;
  CHECK(counts.failed_in_row == 3);
  CHECK(counts.retried == 2);
}

TEST_CASE("each dead event and each retry is a line") {
  base::Logger log{base::LogLevel::debug, base::LogFormat::text};
  FailureLog failures{log};
  const Failing failing{5, 2};
  failures.recorded(*failing.run, failing.settlement, FailureLog::Clock::now());
  CHECK(lines(log, "settler.event_dead") == 2);
  CHECK(lines(log, "settler.event_failed") == 1);
  CHECK(lines(log, "settler.event_retried") == 2);
}

TEST_CASE("the lines of a second are limited; the next second has the number of lines left out") {
  base::Logger log{base::LogLevel::debug, base::LogFormat::text};
  FailureLog failures{log};
  const Failing many{300, 200}, none{1, 0};
  const auto now = FailureLog::Clock::now();
  failures.recorded(*many.run, many.settlement, now);
  CHECK(lines(log, "settler.event_dead") == FailureLog::max_lines);
  CHECK(lines(log, "settler.event_retried") == FailureLog::max_lines);
  CHECK(lines(log, "settler.events_dead") == 0);
  failures.recorded(*none.run, none.settlement, now + std::chrono::seconds{1});
  CHECK(lines(log, "settler.events_dead") == 1);
  CHECK(lines(log, "settler.events_retried") == 1);
  CHECK(lines(log, "settler.event_retried") == FailureLog::max_lines + 1);
}

}  // namespace inboxd::settler
