// A session keeps an old snapshot open: dead rows that vacuum cannot remove must not slow anything down.
#include <memory>

#include "daemon_run.hpp"
#include "latency.hpp"
#include "scenarios.hpp"
#include "snapshot.hpp"

namespace inboxd::bench {
namespace {

constexpr double rate_per_second = 2000;
/// Begin and end of the run, not counted at full load.
constexpr double stretch = 0.1;

std::string tenths_text(const Latencies& all, double part) {
  return each_tenth([&](double from, double to) { return fixed(percentile_ms(all, part, from, to), 1); });
}

struct FullLoad {
  MeasuredRun run;
  double begin = 0, end = 0;  ///< events per second
};

FullLoad full_load(const Options& options, const ScratchDatabase& database, const Topic& topic, bool with_snapshot) {
  PostgresSession control{database.url()};
  const DaemonSettings settings = with_some_retries(database.url(), topic.name());
  fresh_inbox(options, settings, control);
  std::unique_ptr<OldSnapshot> snapshot;
  if (with_snapshot) snapshot = std::make_unique<OldSnapshot>(database.url());
  FullLoad out;
  out.run = run_daemon_here(options, settings, control).settled;
  check_counts(control, options.events, options.events);
  out.begin = rate_between(control, stretch, 0.5);
  out.end = rate_between(control, 0.5, 1 - stretch);
  return out;
}

void measure_full_load(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  Topic topic{options.kafka, options.partitions};
  topic.preload(Generator{1, options.payload}, 0, options.events);
  std::vector<double> kept;
  for (int round = 0; round < options.rounds; ++round) {
    const auto show = [&](const std::string& kind, const FullLoad& load) {
      report.run(kind, load.run);
      report.note("first half " + rate_text(load.begin) + ", second half " + rate_text(load.end));
    };
    const FullLoad without = full_load(options, database, topic, false);
    show("no snapshot", without);
    const FullLoad with = full_load(options, database, topic, true);
    show("old snapshot", with);
    kept.push_back((with.end / with.begin) / (without.end / without.begin));
  }
  report.goal("full load: second half, of the first, as without a snapshot", fixed(median(kept), 2), ">= 0.90",
              median(kept) >= 0.9);
}

void compare_partition_counts(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  Topic topic{options.kafka, options.partitions};
  std::unique_ptr<OldSnapshot> snapshot;
  SteadyLoad load;
  load.per_second = rate_per_second;
  load.time = options.duration;
  load.handler_keys = "concurrency: 8, retry: {backoff: fixed, base: 1s}";
  load.more_settings = "failures: 1, fail_one_in: 100";
  ClaimSampler claims{database.url(), options.duration};
  const SteadyRun run = run_steadily(options, database.url(), topic, load, [&](PostgresSession&) {
    snapshot = std::make_unique<OldSnapshot>(database.url());
    claims.start();
  });
  claims.finish();
  report.run("old snapshot", run.run);
  report.note("first three tenths: " + percentiles_text(run.latencies, 0, compared));
  report.note("last three tenths:  " + percentiles_text(run.latencies, 1 - compared, 1));
  report.note("p50 of each tenth, ms: " + tenths_text(run.latencies, 0.5));
  report.note("p99 of each tenth, ms: " + tenths_text(run.latencies, 0.99));
  PostgresSession control{database.url()};
  const auto dead = control.number("select n_dead_tup from pg_stat_user_tables where relname = 'delivery'");
  report.note("dead rows in delivery: " + std::to_string(dead));
  const double machine = claims.show("2,000 events/s", report);
  for (const double part : {0.5, 0.99}) {
    end_goals_of_time(report, "2,000 events/s: latency p" + fixed(part * 100, 0),
                      percentile_ms(run.latencies, part, 1 - compared, 1),
                      percentile_ms(run.latencies, part, 0, compared), machine);
  }
}

}  // namespace

void measure_old_snapshot(const Options& options, Report& report) {
  measure_full_load(options, report);
  compare_partition_counts(options, report);
}

}  // namespace inboxd::bench
