// Mode sequential, compared with mode single in the same run.
#include <array>
#include <string>

#include "latency.hpp"
#include "order_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr std::int64_t many_keys = 100'000;
constexpr std::array<std::int64_t, 3> key_counts{100, many_keys, 1'000'000};
constexpr std::int64_t fewer_keys = 10'000;
constexpr double hot = 0.5;
constexpr int slow_partitions = 4;
constexpr int slow_part = 50;  ///< of the events, in the scenario with slow calls

/// The rate of mode sequential, of that of mode single.
double ratio_of_modes(OrderBench& bench, Report& report, const std::string& more, const std::string& plugin_settings) {
  std::vector<double> ratios;
  for (int round = 0; round < bench.options.rounds; ++round) {
    DaemonSettings single = bench.settings("single", more), ordered = bench.settings("sequential", more);
    single.handler_settings = ordered.handler_settings = plugin_settings;
    const MeasuredRun without = bench.run(single);
    report.run("single", without);
    const MeasuredRun with = bench.run(ordered);
    report.run("sequential", with);
    ratios.push_back(with.rate() / without.rate());
  }
  return median(ratios);
}

constexpr const char* calls_of_500 = "concurrency: 2, events_per_call: 500";

}  // namespace

void measure_order(const Options& options, Report& report) {
  for (const std::int64_t keys : key_counts) {
    OrderBench bench{options, {keys, 0}};
    const double ratio = ratio_of_modes(bench, report, calls_of_500, "{}");
    report.goal(std::to_string(keys) + " keys, of mode single", fixed(ratio, 2), ">= 0.95", ratio >= 0.95);
  }
  OrderBench bench{options, {many_keys, hot}};
  const double ratio = ratio_of_modes(bench, report, calls_of_500, "{}");
  report.goal("one key with half of the events, of mode single", fixed(ratio, 2), ">= 0.90", ratio >= 0.9);
}

void measure_order_failures(const Options& options, Report& report) {
  OrderBench bench{options, {many_keys, 0}};
  const std::string more = std::string{calls_of_500} + ", retry: {backoff: fixed, base: 100ms, jitter: 0}";
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun smooth = bench.run(bench.settings("sequential", more));
    report.run("no failures", smooth);
    DaemonSettings failing = bench.settings("sequential", more);
    failing.handler_settings = "{failures: 2, fail_one_in: 1000}";
    const MeasuredRun run = bench.run(failing);
    report.run("1 in 1,000 fails twice", run);
    ratios.push_back(run.rate() / smooth.rate());
  }
  const double ratio = median(ratios);
  report.goal("1 in 1,000 fails twice, of the rate without failures", fixed(ratio, 2), ">= 0.60", ratio >= 0.6);
}

void measure_order_sql(const Options& options, Report& report) {
  OrderBench bench{options, {fewer_keys, 0}};
  DaemonSettings settings = bench.settings("sequential", "concurrency: 8, events_per_call: 500");
  settings.plugin = "sql";
  settings.connections = 24;
  settings.handler_settings =
      "{statement: \"insert into bench_application.newest as n (key, event_id, place) select distinct on (key) key, "
      "event_id, 'x' || \\\"offset\\\" from events order by key, \\\"offset\\\" desc on conflict (key) do update set "
      "event_id = excluded.event_id, place = excluded.place\"}";
  std::vector<double> rates;
  for (int round = 0; round < options.rounds; ++round) {
    bench.control.run(
        "drop schema if exists bench_application cascade; create schema bench_application;"
        "create table bench_application.newest (key text primary key, event_id uuid not null, place text not null)");
    const MeasuredRun run = bench.run(settings);
    report.run("upserts", run);
    rates.push_back(run.rate());
    const auto wrong = bench.control.number(
        "select count(*) from (select e.key, max(e.\"offset\") as last from inbox.event e group by e.key) e "
        "left join bench_application.newest n on n.key = convert_from(e.key, 'UTF8') "
        "where n.place is distinct from 'x' || e.last");
    if (wrong > 0) throw std::runtime_error{std::to_string(wrong) + " keys have another state than their last event"};
  }
  const double rate = median(rates);
  report.goal("upserts of 10,000 keys in order, 500 events per call", rate_text(rate), ">= 80k/s", rate >= 80'000);
}

void measure_order_latency(const Options& options, Report& report) {
  constexpr double per_second = 1'000;
  constexpr double most = 1.1;
  const ScratchDatabase database{options.postgres};
  const auto measured = [&](const std::string& mode) {
    SteadyLoad load{.per_second = per_second};
    if (options.smoke) load.time = std::chrono::seconds{2};
    load.handler_keys = "mode: " + mode + ", concurrency: 8";
    Topic topic{options.kafka, options.partitions};
    const SteadyRun run = run_steadily(options, database.url(), topic, load);
    report.run(mode, run.run);
    report.note(mode + ": " + percentiles_text(run.latencies));
    return run.latencies;
  };
  std::vector<double> p50, p99;
  for (int round = 0; round < options.rounds; ++round) {
    const Latencies single = measured("single"), ordered = measured("sequential");
    p50.push_back(percentile_ms(ordered, 0.5) / percentile_ms(single, 0.5));
    p99.push_back(percentile_ms(ordered, 0.99) / percentile_ms(single, 0.99));
  }
  for (const auto& [name, ratios] : {std::pair{"p50", p50}, std::pair{"p99", p99}}) {
    const double ratio = median(ratios);
    report.goal(std::string{"latency "} + name + " at 1,000/s, of mode single", fixed(ratio, 2), "<= 1.10",
                ratio <= most);
  }
}

void measure_order_slow(const Options& options, Report& report) {
  Options fewer = options;
  fewer.partitions = slow_partitions;
  fewer.events = std::max<std::int64_t>(options.events / slow_part, 1);
  OrderBench bench{fewer, {fewer_keys, 0}};
  const double ratio = ratio_of_modes(bench, report, "concurrency: 64, events_per_call: 1", "{takes: 10ms}");
  report.goal("calls of 10 ms, 4 partitions, 64 workers, of mode single", fixed(ratio, 2), ">= 0.90", ratio >= 0.9);
}

}  // namespace inboxd::bench
