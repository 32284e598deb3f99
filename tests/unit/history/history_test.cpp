// The rings of the last hour and day, with a virtual clock.
#include "history/history.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cmath>

using namespace inboxd::history;
using std::chrono::seconds;

namespace {

constexpr std::int64_t midnight = 1'700'006'400;  // the start of a step of both rings

/// A daemon whose wall and steady clock a test moves.
struct Machine {
  History history;
  std::int64_t wall = midnight;
  History::Clock::time_point steady{seconds{1'000}};
  Sample now;

  void pass(std::int64_t s) {
    wall += s;
    steady += seconds{s};
  }
  void record() {
    if (history.is_due(wall)) history.record(now, wall, steady);
  }
  /// A step of 10 s with so many events done by `receipt`.
  void step(std::uint64_t events = 0) {
    pass(10);
    now.handlers["receipt"].done += events;
    record();
  }
  Values of(HandlerField field, Span span = Span::hour) const {
    return history.view(span).handlers.at("receipt").fields[field];
  }
  Values of(TopicField field) const { return history.view(Span::hour).topics.at("orders").fields[field]; }
};

std::size_t known(const Values& values) {
  std::size_t out = 0;
  for (const float value : values) out += std::isnan(value) ? 0 : 1;
  return out;
}

}  // namespace

TEST_CASE("a step has the rate since the step before, and steps without a sample are unknown") {
  Machine machine;
  machine.now.handlers["receipt"] = {};
  machine.record();
  CHECK(known(machine.of(done)) == 0);  // no rate yet
  machine.step(50);
  machine.step(20);
  const Values rates = machine.of(done);
  REQUIRE(rates.size() == hour_steps);
  CHECK(known(rates) == 2);
  CHECK(rates[358] == 5);
  CHECK(rates[359] == 2);
  CHECK(machine.history.view(Span::hour).end == machine.wall);
}

TEST_CASE("a sample within a step is not due") {
  Machine machine;
  machine.record();
  machine.pass(9);
  CHECK_FALSE(machine.history.is_due(machine.wall));
  machine.pass(1);
  CHECK(machine.history.is_due(machine.wall));
}

TEST_CASE("after 24 hours the day has all its steps, and the hour the last 360") {
  Machine machine;
  machine.now.handlers["receipt"] = {};
  machine.record();
  for (int i = 0; i < 26 * 360; ++i) machine.step(i < 2 * 360 ? 1'000 : 10);
  CHECK(known(machine.of(done)) == hour_steps);
  CHECK(known(machine.of(done, Span::day)) == day_steps);
  for (const float rate : machine.of(done, Span::day)) CHECK(rate == 1);  // the first two hours have gone
  CHECK(machine.history.view(Span::day).end == machine.wall);
}

TEST_CASE("a process that was stopped leaves a gap, and its counts are spread over the time that passed") {
  Machine machine;
  machine.now.handlers["receipt"] = {};
  machine.record();
  machine.step(10);
  machine.pass(60);
  machine.step(140);
  const Values rates = machine.of(done);
  CHECK(known(rates) == 2);
  CHECK(rates[359] == 2);
  CHECK(std::isnan(rates[358]));
  CHECK(rates[352] == 1);
}

TEST_CASE("a clock that goes back forgets the steps of the future, and goes on") {
  Machine machine;
  machine.now.handlers["receipt"] = {};
  machine.record();
  for (int i = 0; i < 100; ++i) machine.step(10);
  machine.wall -= 500;
  machine.step(30);
  const Values rates = machine.of(done);
  CHECK(machine.history.view(Span::hour).end == machine.wall);
  CHECK(rates[359] == 3);
  CHECK(rates[358] == 1);
  CHECK(known(rates) == 51);
  machine.step(10);
  CHECK(machine.of(done)[359] == 1);
}

TEST_CASE("a clock that jumps by days forgets what is too old, and gives no rate of a moment") {
  Machine machine;
  machine.now.handlers["receipt"] = {};
  machine.record();
  machine.step(10);
  machine.wall += 3 * 86'400;
  machine.now.handlers["receipt"].done += 7;
  machine.record();
  CHECK(known(machine.of(done)) == 0);
  machine.step(3);
  CHECK(machine.of(done)[359] == 1);
  machine.wall -= 3 * 86'400;
  machine.step(20);
  CHECK(machine.of(done)[359] == 2);
  CHECK(known(machine.of(done)) == 1);
}

TEST_CASE("a day's step has the mean of rates, the sum of failures, the last level and the highest percentile") {
  Machine machine;
  machine.now.handlers["receipt"].calls = {{0.1, 1}, {0, 0, 0}, 0};
  machine.record();
  for (int i = 0; i < 30; ++i) {
    auto& handler = machine.now.handlers["receipt"];
    handler.failures["sql.22P02"] += 2;
    handler.failed += 2;
    handler.dead = i;
    handler.calls.counts[i == 7 ? 1 : 0] += 100;
    machine.step(i < 15 ? 0 : 20);
  }
  const View day = machine.history.view(Span::day);
  const Track& receipt = day.handlers.at("receipt");
  CHECK(receipt.fields[done].back() == 1);
  CHECK(receipt.fields[dead].back() == 29);
  CHECK(receipt.fields[p99].back() == 991);
  CHECK(receipt.failures.at("sql.22P02").back() == 60);
}

TEST_CASE("a quantile lies within its bucket, and is unknown without a call") {
  const inboxd::base::Histogram::Snapshot none{{0.1, 1}, {0, 0, 0}, 0};
  const inboxd::base::Histogram::Snapshot some{{0.1, 1}, {50, 50, 0}, 0};
  const inboxd::base::Histogram::Snapshot long_calls{{0.1, 1}, {0, 0, 5}, 0};
  CHECK(std::isnan(quantile_ms(none, none, 0.5)));
  CHECK(quantile_ms(some, none, 0.5) == 100);
  CHECK(quantile_ms(some, none, 0.75) == 550);
  CHECK(std::isnan(quantile_ms(some, some, 0.5)));
  CHECK(quantile_ms(long_calls, none, 0.5) == 1'000);  // at least
}

TEST_CASE("the four error classes with the most failures are told apart, and none is lost") {
  Machine machine;
  machine.now.handlers["receipt"] = {};
  machine.record();
  const auto fail = [&](const std::string& error_class, std::uint64_t times) {
    machine.now.handlers["receipt"].failures[error_class] += times;
  };
  for (const char* const name : {"a", "b", "c", "d"}) fail(name, 5);
  machine.step();
  fail("few", 1);
  machine.step();
  fail("many", 100);
  machine.step();
  const auto failures = machine.history.view(Span::hour).handlers.at("receipt").failures;
  CHECK(failures.size() == Ring::max_classes + 1);
  CHECK(failures.at("many")[359] == 100);
  CHECK(failures.at("other")[358] == 1);
  float sum = 0;
  for (const auto& [name, values] : failures) sum += over_time(Kind::count, values);
  CHECK(sum == 121);
}

TEST_CASE("the lag in seconds is the time since the logs ended at the present position") {
  Machine machine;
  auto& place = machine.now.topics["orders"].place;
  place = {100, 100};
  machine.record();
  CHECK(machine.of(lag_seconds)[359] == 0);
  for (int i = 1; i <= 6; ++i) {
    place = {100, 100 + 50 * i};
    machine.step();
  }
  CHECK(machine.of(lag)[359] == 300);
  CHECK(machine.of(lag_seconds)[359] == 60);
  place = {250, 450};
  machine.step();
  CHECK(machine.of(lag_seconds)[359] == 40);
  place.reset();
  machine.step();
  CHECK(std::isnan(machine.of(lag)[359]));
  CHECK(std::isnan(machine.of(lag_seconds)[359]));
}

TEST_CASE("a lag that is older than the history has unknown seconds") {
  Machine machine;
  machine.now.topics["orders"].place = {0, 1'000};
  machine.record();
  machine.step();
  CHECK(machine.of(lag)[359] == 1'000);
  CHECK(std::isnan(machine.of(lag_seconds)[359]));
}

TEST_CASE("a handler that was removed is forgotten after a day") {
  Machine machine;
  machine.now.handlers["receipt"] = {};
  machine.now.handlers["old"] = {};
  machine.record();
  machine.step();
  machine.now.handlers.erase("old");
  machine.step();
  CHECK(machine.history.view(Span::day).handlers.contains("old"));
  for (int i = 0; i < 8'640 + 30; ++i) machine.step();
  CHECK_FALSE(machine.history.view(Span::day).handlers.contains("old"));
}

TEST_CASE("a day of 50 handlers with many error classes takes at most 2 MB, and more names take no more") {
  Machine machine;
  machine.record();
  const auto fill = [&](int handlers, int topics) {
    for (int step = 0; step < 400; ++step) {
      for (int i = 0; i < handlers; ++i) {
        auto& handler = machine.now.handlers["handler " + std::to_string(i)];
        handler.calls = {std::vector<double>(14, 1), std::vector<std::uint64_t>(15), 0};
        handler.failures["class " + std::to_string(step % 20)] += 1;
      }
      for (int i = 0; i < topics; ++i) machine.now.topics["topic " + std::to_string(i)].place = {step, step};
      machine.step();
    }
  };
  fill(50, 10);
  CHECK(machine.history.bytes() <= 2 << 20);
  fill(Ring::max_names, Ring::max_names);
  const std::size_t full = machine.history.bytes();
  CHECK(full <= 6 << 20);
  for (int i = 0; i < 200; ++i) machine.now.topics["more " + std::to_string(i)].place = {1, 1};
  machine.step();
  CHECK(machine.history.view(Span::hour).topics.size() == Ring::max_names);
  CHECK(machine.history.bytes() <= full + 100'000);
}
