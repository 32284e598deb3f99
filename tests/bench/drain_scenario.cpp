// A backlog that is already in the database, worked off by the daemon.
#include "kafka_bench.hpp"
#include "reference.hpp"
#include "room.hpp"
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
  RatesBesidePath rounds;
  for (int round = 0; round < options.rounds; ++round) {
    const Run path = bench.path().settled;
    report.run("path", path);
    Room room{options, bench.database.url(), backlog_topic, 1};
    report.run("loading", room.ingest({.seed = 1, .lease = std::chrono::milliseconds{0}}));
    bench.control.run("checkpoint");
    Run run = run_daemon_here(options, settings, bench.control).settled;
    check_counts(bench.control, run.events, run.events);
    run.seconds = bench.control.real(
        "select extract(epoch from (select max(finished_at) from inbox.outcome) -"
        " (select min(started_at) from inbox.instance))");
    report.run("inboxd", run);
    rounds.add(run, path);
  }
  goal_of_rate(report, "drain of a backlog in the database", rounds, 300'000);
}

}  // namespace inboxd::bench
