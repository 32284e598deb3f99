// `rate` and `max_in_flight`: limits over all instances.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "process/support/daemon_fixture.hpp"
#include "support/wait.hpp"

using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// The recorded calls between two times of the recording, in ms.
std::int64_t calls_between(const std::vector<Recorded>& calls, std::int64_t from, std::int64_t to) {
  return std::count_if(calls.begin(), calls.end(),
                       [&](const Recorded& call) { return call.monotonic_ms >= from && call.monotonic_ms < to; });
}

/// The most calls at the same time, if each takes that long.
int max_at_once(const std::vector<Recorded>& calls, std::int64_t takes_ms) {
  int most = 0;
  for (const Recorded& call : calls) {
    most = std::max(most, static_cast<int>(calls_between(calls, call.monotonic_ms, call.monotonic_ms + takes_ms)));
  }
  return most;
}

}  // namespace

TEST_CASE("a rate holds over two instances, also after either is killed", "[alone]") {
  const std::string mode = GENERATE("single", "sequential");
  DaemonFixture fixture{4};
  fixture.config.handlers[0].more = {"mode: " + mode, "rate: 200/s", "concurrency: 8", "events_per_call: 10"};
  const auto first = fixture.start();
  const auto second = fixture.start();
  fixture.produce(2'000);
  wait_until(
      "1,000 calls", [&] { return fixture.recording.count() >= 1'000; }, 20s);
  second->kill();
  CHECK(fixture.wait_done().is_perfect());
  auto calls = fixture.recording.all();
  std::sort(calls.begin(), calls.end(), [](const auto& a, const auto& b) { return a.monotonic_ms < b.monotonic_ms; });
  const auto begin = calls.front().monotonic_ms;
  // From the saved-up half second on, until the killed instance's last leases have to be waited for.
  const auto in_four_seconds = calls_between(calls, begin + 500, begin + 4'500);
  CHECK(in_four_seconds >= 720);
  CHECK(in_four_seconds <= 880);
  for (auto from = begin; from < calls.back().monotonic_ms; from += 500) {
    CHECK(calls_between(calls, from, from + 2'000) <= 200 * 2 + 100 + 40);
  }
}

TEST_CASE("max_in_flight holds over two instances, also after an instance is killed and another comes", "[alone]") {
  const std::string mode = GENERATE("single", "sequential");
  DaemonFixture fixture{4};
  fixture.config.handlers[0].more = {"mode: " + mode, "max_in_flight: 6", "concurrency: 8", "events_per_call: 1"};
  fixture.set("takes", "20ms");
  const auto first = fixture.start();
  const auto second = fixture.start();
  fixture.produce(2'000);
  wait_until(
      "501 calls", [&] { return fixture.recording.count() > 500; }, 20s);
  const auto before = fixture.recording.all();
  second->kill();
  const auto third = fixture.start();
  CHECK(fixture.wait_done().is_perfect());
  CHECK(max_at_once(fixture.recording.all(), 20) <= 6);
  const auto took = static_cast<double>(before[500].monotonic_ms - before[100].monotonic_ms);
  const double used = 400 * 20 / 6.0 / took;  // of what six calls at a time can do
  CAPTURE(used);
  CHECK(used >= 0.7);
  CHECK(fixture.database.number("select coalesce(sum(calls), 0) from inbox.call_share") <= 6);
}

TEST_CASE("a single call at a time over two instances with sequences of their own starves neither") {
  DaemonFixture fixture{4};
  fixture.config.handlers[0].more = {"mode: sequential", "max_in_flight: 1", "concurrency: 4", "events_per_call: 10"};
  fixture.set("takes", "5ms");
  const auto first = fixture.start();
  const auto second = fixture.start();
  wait_until("each has sequences", [&] {
    return fixture.database.number("select count(distinct owner) from inbox.sequence where owner is not null") == 2;
  });
  fixture.produce(600);
  CHECK(fixture.wait_done().is_perfect());
  CHECK(fixture.recording.processes().size() == 2);
}
