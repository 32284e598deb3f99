#include "in_process_inbox.hpp"
#include "kafka_bench.hpp"
#include "reference_machine.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr const char* backlog_topic = "inboxd-bench-backlog";

}  // namespace

void measure_drain(const Options& options, Report& report) {
  KafkaBench bench{options};
  const Topic empty{options.kafka, options.partitions};
  DaemonSettings settings = bench.settings();
  settings.topic = empty.name();
  RatesBesideBaseline rounds;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun baseline = bench.baseline().settled;
    report.run("baseline", baseline);
    InProcessInbox local_inbox{options, bench.database.url(), backlog_topic, 1};
    report.run("loading", local_inbox.ingest({.seed = 1, .lease = std::chrono::milliseconds{0}}));
    bench.control.run("checkpoint");
    MeasuredRun run = run_daemon_here(options, settings, bench.control).settled;
    check_counts(bench.control, run.events, run.events);
    run.seconds = bench.control.real(
        "select extract(epoch from (select max(finished_at) from inbox.outcome) -"
        " (select min(started_at) from inbox.instance))");
    report.run("inboxd", run);
    rounds.add(run, baseline);
  }
  goal_of_rate(report, "drain of a backlog in the database", rounds, 300'000);
}

}  // namespace inboxd::bench
