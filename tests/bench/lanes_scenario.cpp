// Blocked keys of a sequential handler drain once the application is back.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "application_table.hpp"
#include "order_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr std::int64_t blocked_keys = 20'000;
constexpr std::int64_t waiting_of_hot_key = 20'000;
constexpr std::int64_t events_of_key = 3;  ///< the first fails, the others wait
constexpr double min_rate = 4'000;
constexpr double min_ratio = 0.5;
constexpr auto poll_interval = std::chrono::milliseconds{20};
constexpr auto limit = std::chrono::minutes{10};

/// A statement that fails while the application is away.
constexpr const char* statement =
    "{statement: \"insert into bench_application.applied (event_id, order_number) select event_id, body->>'order' from "
    "events where 1 / (select up from bench_application.service) = 1\"}";

struct Drain {
  MeasuredRun run;                   ///< from the retry to the last outcome
  std::vector<std::int64_t> counts;  ///< of outcomes in each second, the first from the retry on
};

DaemonSettings settings_of(const OrderBench& bench, int workers) {
  DaemonSettings out = bench.settings("sequential", "concurrency: " + std::to_string(workers) +
                                                        ", retry: {backoff: fixed, base: 24h, jitter: 0}");
  out.plugin = "sql";
  out.handler_settings = statement;
  out.connections = workers + 8;
  return out;
}

void wait_until(BenchDaemon& daemon, PostgresSession& control, const std::string& condition) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (control.number("select (" + condition + ")::int") == 0) {
    if (!daemon.is_running()) daemon.wait();  // throws with the end of the log
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error{"timed out: not (" + condition + ")"};
    std::this_thread::sleep_for(poll_interval);
  }
}

void begin(OrderBench& bench, const DaemonSettings& settings, bool is_up) {
  fresh_inbox(bench.options, settings, bench.control);
  create_application_table(bench.control);
  bench.control.run("create table bench_application.service as select " + std::to_string(is_up ? 1 : 0) + " as up");
}

/// Blocks the keys of all events, lets the application come back and retries.
Drain drain_lanes(OrderBench& bench, const DaemonSettings& settings) {
  begin(bench, settings, false);
  const std::string events = std::to_string(bench.options.events);
  BenchDaemon daemon{bench.options, settings, false};
  wait_until(daemon, bench.control,
             "select coalesce(sum(events), 0) = " + events + " from inbox.delivery where lane is not null");
  bench.control.run("update bench_application.service set up = 1");
  bench.control.run("checkpoint");
  CostMeasurement measurement{bench.control, bench.options.kafka};
  const std::string began = "'" + bench.control.text("select clock_timestamp()::text") + "'";
  BenchDaemon::run_command(bench.options, settings, {"events", "retry", "--handler", "noop_1", "--yes"});
  wait_until(daemon, bench.control, "not exists (select from inbox.delivery)");
  Drain out{{bench.options.events, 0, measurement.stop()}, {}};
  out.run.cost.own_cpu = cpu_seconds(daemon.process());
  daemon.stop();
  out.run.seconds = bench.control.real("select extract(epoch from max(finished_at) - " + began +
                                       "::timestamptz) from inbox.outcome where outcome = 'done'");
  out.counts.resize(static_cast<std::size_t>(std::ceil(out.run.seconds)));
  for (std::size_t second = 0; second < out.counts.size(); ++second) {
    out.counts[second] = bench.control.number(
        "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome where outcome = 'done' and "
        "finished_at - " +
        began + "::timestamptz >= interval '1 s' * " + std::to_string(second) + " and finished_at - " + began +
        "::timestamptz < interval '1 s' * " + std::to_string(second + 1));
  }
  check_counts(bench.control, bench.options.events, bench.options.events);
  check_application_table(bench.control, bench.options.events);
  return out;
}

/// The rate without failures, of a backlog that is in the database.
double rate_of_worker(OrderBench& bench, const DaemonSettings& settings, Report& report) {
  begin(bench, settings, true);
  const DaemonRun run = run_daemon_here(bench.options, settings, bench.control);
  check_application_table(bench.control, bench.options.events);
  report.run("one worker, no failure", run.settled);
  return run.settled.rate();
}

std::string text_of(const std::vector<std::int64_t>& counts) {
  std::string out;
  for (const std::int64_t count : counts) out += (out.empty() ? "" : ", ") + std::to_string(count);
  return out;
}

}  // namespace

void measure_lanes(const Options& asked, Report& report) {
  Options many = asked;
  const std::int64_t keys = std::min(blocked_keys, asked.events / events_of_key);
  many.events = keys * events_of_key;
  OrderBench blocked{many, {keys, 0, 0, true}};
  std::vector<double> firsts;
  for (int round = 0; round < asked.rounds; ++round) {
    const Drain drain = drain_lanes(blocked, settings_of(blocked, 8));
    report.run("blocked keys", drain.run);
    report.note("outcomes in each second after the retry: " + text_of(drain.counts));
    // The last second ends early.
    firsts.push_back(drain.counts.size() > 1 ? static_cast<double>(drain.counts.front()) : drain.run.rate());
  }
  const double first = median(firsts);
  report.goal(std::to_string(keys) + " blocked keys, two events behind each, first second", rate_text(first),
              ">= 4k/s", first >= min_rate);

  Options hot = asked;
  hot.events = std::min(waiting_of_hot_key, asked.events) + 1;
  OrderBench key{hot, {1, 0}};
  std::vector<double> ratios;
  for (int round = 0; round < asked.rounds; ++round) {
    const double worker = rate_of_worker(key, settings_of(key, 1), report);
    const Drain drain = drain_lanes(key, settings_of(key, 1));
    report.run("one blocked key", drain.run);
    report.note("outcomes in each second after the retry: " + text_of(drain.counts));
    ratios.push_back(drain.run.rate() / worker);
  }
  const double ratio = median(ratios);
  report.goal("one key with " + std::to_string(hot.events - 1) + " waiting events, of one worker", fixed(ratio, 2),
              ">= 0.50", ratio >= min_ratio);
}

}  // namespace inboxd::bench
