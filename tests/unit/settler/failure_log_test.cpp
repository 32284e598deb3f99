#include "settler/failure_log.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "settler/gathering.hpp"
#include "unit/settler/runs.hpp"

namespace inboxd::settler {
namespace {

using test::failed_at;
using test::lease_of;
using test::offsets_from;
using test::run_of;

std::uint64_t lines(const base::Logger& log, const std::string& sentence) {
  for (const auto& kind : log.kinds()) {
    if (kind.sentence == sentence) return kind.lines;
  }
  return 0;
}

/// A run of which all events fail, some of them for good.
struct Failing {
  Failing(std::size_t events, std::size_t dead) : run{run_of(lease_of(offsets_from(0, events)))} {
    Report report{run, 0, events, {}};
    for (std::size_t i = 0; i < events; ++i) {
      report.failed.push_back(failed_at(i));
      if (i < dead) report.failed.back().verdict.kind = Verdict::Kind::dead;
    }
    Gathering gathering{run};
    gathering.add(std::move(report));
    settlement = gathering.take(0.5).settlement;
  }
  std::shared_ptr<Run> run;
  inbox::Settlement settlement;
};

}  // namespace

TEST_CASE("each event that died is a line, and each that is tried again") {
  base::Logger log{base::LogLevel::debug, base::LogFormat::text};
  FailureLog failures{log};
  const Failing failing{5, 2};
  failures.recorded(*failing.run, failing.settlement, FailureLog::Clock::now());
  CHECK(lines(log, "settler: an event is dead") == 2);
  CHECK(lines(log, "settler: an event is tried again later") == 3);
}

TEST_CASE("so many lines a second, and the others are a number in the next") {
  base::Logger log{base::LogLevel::debug, base::LogFormat::text};
  FailureLog failures{log};
  const Failing many{300, 200}, none{1, 0};
  const auto now = FailureLog::Clock::now();
  failures.recorded(*many.run, many.settlement, now);
  CHECK(lines(log, "settler: an event is dead") == FailureLog::most_lines);
  CHECK(lines(log, "settler: an event is tried again later") == FailureLog::most_lines);
  CHECK(lines(log, "settler: more events died than are told one by one") == 0);
  failures.recorded(*none.run, none.settlement, now + std::chrono::seconds{1});
  CHECK(lines(log, "settler: more events died than are told one by one") == 1);
  CHECK(lines(log, "settler: more events are tried again than are told one by one") == 1);
  CHECK(lines(log, "settler: an event is tried again later") == FailureLog::most_lines + 1);
}

}  // namespace inboxd::settler
