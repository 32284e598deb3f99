// A replay of many dead letters, and the daemon that handles them afterwards.
#include <algorithm>
#include <chrono>
#include <thread>

#include "order_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t max_letters = 100'000;
constexpr std::int64_t keys = 10'000;
constexpr double goal_per_second = 20'000;
constexpr auto poll_interval = std::chrono::milliseconds{100};

struct Replay {
  MeasuredRun pending;  ///< from the command's start to its end
  MeasuredRun done;     ///< from the command's start to the last outcome of a daemon that starts after the command
};

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

/// Dead-letters all events, replays them, then starts a daemon whose handler does nothing.
Replay replay(OrderBench& bench, const std::string& mode) {
  DaemonSettings settings = bench.settings(mode, "concurrency: 2, events_per_call: 500, retry: {max_attempts: 1}");
  settings.handler_settings = "{failures: 1}";
  fresh_inbox(bench.options, settings, bench.control);
  run_daemon_here(bench.options, settings, bench.control);
  const auto letters = bench.control.number("select count(*) from inbox.dead_letter");
  if (letters != bench.options.events) throw std::runtime_error{std::to_string(letters) + " events are dead"};
  bench.control.run("vacuum analyze");
  bench.control.run("checkpoint");
  settings.handler_settings = "{}";
  CostMeasurement measurement{bench.control, bench.options.kafka};
  const auto began = Clock::now();
  BenchDaemon::run_command(bench.options, settings, {"dead", "replay", "--all", "--yes"});
  Replay out;
  out.pending.seconds = seconds_since(began);
  if (bench.control.number("select sum(events) from inbox.delivery") != letters)
    throw std::runtime_error{"some are left"};
  out.pending.cost = measurement.stop();
  BenchDaemon daemon{bench.options, settings, false};
  while (bench.control.number("select count(*) from (select from inbox.delivery limit 1) d") > 0)
    std::this_thread::sleep_for(poll_interval);
  out.done.seconds = seconds_since(began);
  out.done.cost = measurement.stop();
  out.done.events = out.pending.events = letters;
  daemon.stop();
  check_counts(bench.control, letters, letters);
  return out;
}

}  // namespace

void measure_dead_replay(const Options& asked, Report& report) {
  Options options = asked;
  options.events = std::min(asked.events, max_letters);
  OrderBench bench{options, {keys, 0}};
  for (const std::string mode : {"single", "sequential"}) {
    std::vector<double> rates;
    for (int round = 0; round < options.rounds; ++round) {
      const Replay run = replay(bench, mode);
      report.run(mode + ", pending", run.pending);
      report.run(mode + ", done", run.done);
      rates.push_back(run.pending.rate());
    }
    const double rate = median(rates);
    report.goal("replay until all are pending, mode " + mode, rate_text(rate), ">= 20k/s", rate >= goal_per_second);
  }
}

}  // namespace inboxd::bench
