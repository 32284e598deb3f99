// A new owner takes over the backlog of a killed owner.
#include <algorithm>
#include <memory>
#include <thread>

#include "order_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr double max_seconds = 1;
constexpr double min_ratio = 0.7;
constexpr auto poll_interval = std::chrono::milliseconds{50};

struct TakeOver {
  double first_outcome = 0;  ///< seconds after the start of the new owner
  MeasuredRun drain;         ///< from the first outcome to the last
};

void wait_for(PostgresSession& control, const std::string& sql, std::int64_t wanted) {
  while (control.number(sql) < wanted) std::this_thread::sleep_for(poll_interval);
}

/// Stores all events with an owner whose calls never return, kills it, and drains with another instance, which ends its
/// predecessor's leases.
TakeOver take_over(OrderBench& bench, const std::string& mode) {
  DaemonSettings settings = bench.settings(mode, "concurrency: 2, events_per_call: 500, lease: 10m, deadline: 10m");
  settings.handler_settings = "{holds_after: 1}";
  fresh_inbox(bench.options, settings, bench.control);
  {
    const BenchDaemon owner{bench.options, settings, false};
    wait_for(bench.control,
             "select coalesce(sum(n), 0) from (select max(next_offset) as n from inbox.position group by shard_id) p",
             bench.options.events);
  }
  settings.handler_settings = "{}";
  CostMeasurement measurement{bench.control, bench.options.kafka};
  BenchDaemon next{bench.options, settings, true};
  next.wait();
  TakeOver out;
  out.drain.cost = measurement.stop();
  out.drain.cost.own_cpu = next.cpu_seconds();
  out.drain.events = bench.options.events;
  const std::string of_next =
      " from inbox.outcome where owner = (select owner from inbox.outcome order by finished_at "
      "desc limit 1)";
  out.first_outcome = bench.control.real(
      "select extract(epoch from min(finished_at) - (select max(started_at) from inbox.instance))" + of_next);
  out.drain.seconds = bench.control.real("select extract(epoch from max(finished_at) - min(finished_at))" + of_next);
  check_counts(bench.control, bench.options.events, bench.options.events);
  return out;
}

void measure_with(const Options& options, std::int64_t keys, const std::string& name, Report& report) {
  OrderBench bench{options, {keys, 0}};
  std::vector<double> ratios, firsts;
  for (int round = 0; round < options.rounds; ++round) {
    const TakeOver single = take_over(bench, "single");
    report.run("single, " + name, single.drain);
    const TakeOver ordered = take_over(bench, "sequential");
    report.run("sequential, " + name, ordered.drain);
    report.note("first outcome, sequential " + fixed(ordered.first_outcome, 2) + " s, single " +
                fixed(single.first_outcome, 2) + " s after the start");
    ratios.push_back(ordered.drain.rate() / single.drain.rate());
    firsts.push_back(std::max(ordered.first_outcome, single.first_outcome));
  }
  const double first = median(firsts), ratio = median(ratios);
  report.goal(name + ": first outcome after the start", fixed(first, 2) + " s", "< 1 s", first < max_seconds);
  report.goal(name + ": drain of the backlog, of mode single", fixed(ratio, 2), ">= 0.70", ratio >= min_ratio);
}

}  // namespace

void measure_order_take_over(const Options& options, Report& report) {
  measure_with(options, 200, "200 keys", report);
  measure_with(options, 1'000'000, "1,000,000 keys", report);
}

}  // namespace inboxd::bench
