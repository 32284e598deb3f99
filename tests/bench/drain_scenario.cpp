// A backlog that is already in the database, worked off by the daemon.
#include "daemon_run.hpp"
#include "room.hpp"
#include "scenarios.hpp"
#include "topic.hpp"

namespace inboxd::bench {
namespace {

constexpr const char* backlog_topic = "inboxd-bench-backlog";

}  // namespace

void measure_drain(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  Session control{database.url()};
  const Topic empty{options.kafka, options.partitions};
  DaemonSettings settings;
  settings.database_url = database.url();
  settings.topic = empty.name();
  std::vector<double> rates;
  for (int round = 0; round < options.rounds; ++round) {
    Room room{options, database.url(), backlog_topic, 1};
    report.run("loading", room.ingest({.seed = 1, .lease = std::chrono::milliseconds{0}}));
    control.run("checkpoint");
    Run run = run_daemon_here(options, settings, control).settled;
    check_counts(control, run.events, run.events);
    run.seconds = control.real(
        "select extract(epoch from (select max(finished_at) from inbox.outcome) -"
        " (select min(started_at) from inbox.instance))");
    report.run("inboxd", run);
    rates.push_back(run.rate());
  }
  report.goal("drain of a backlog in the database", rate_text(median(rates)), ">= 300k/s", median(rates) >= 300'000);
}

}  // namespace inboxd::bench
