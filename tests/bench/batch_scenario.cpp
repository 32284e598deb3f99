// Mode batch, compared with mode single in the same run.
#include "application_table.hpp"
#include "in_process_inbox.hpp"
#include "kafka_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr const char* backlog_topic = "inboxd-bench-backlog";
constexpr std::int64_t max_memory = 250 << 20;

/// A backlog in the database, from the daemon's start until the sql handler has inserted all of it.
DaemonRun drain_with_sql(KafkaBench& bench, const DaemonSettings& settings) {
  create_application_table(bench.control);
  InProcessInbox local_inbox{bench.options, bench.database.url(), backlog_topic, 1};
  local_inbox.ingest({.seed = 1, .lease = std::chrono::milliseconds{0}});
  bench.control.run("checkpoint");
  DaemonRun out = run_daemon_here(bench.options, settings, bench.control);
  check_application_table(bench.control, bench.options.events);
  out.settled.seconds = bench.control.real(
      "select extract(epoch from (select max(finished_at) from inbox.outcome) -"
      " (select min(started_at) from inbox.instance))");
  return out;
}

/// A window of all events, in calls of a single key each, from its close.
MeasuredRun run_groups(const Options& options, std::int64_t keys) {
  const ScratchDatabase database{options.postgres};
  PostgresSession control{database.url()};
  Topic topic{options.kafka, options.partitions};
  topic.preload_keyed(Generator{1, options.payload}, options.events, {keys, 0});
  DaemonSettings settings;
  settings.database_url = database.url();
  settings.topic = topic.name();
  settings.envelope = "outbox-router";
  settings.handler_keys = "mode: batch, batch: {every: 365d, group_by: key, max_events: 1000}";
  MeasuredRun out = run_daemon(options, settings, control, options.events).settled;
  out.seconds = control.real(
      "select extract(epoch from (select max(finished_at) from inbox.outcome) -"
      " (select began_at from inbox.batch_window))");
  return out;
}

}  // namespace

void measure_batch(const Options& options, Report& report) {
  KafkaBench bench{options};
  const Topic empty{options.kafka, options.partitions};
  DaemonSettings single = bench.settings();
  single.topic = empty.name();
  single.plugin = "sql";
  single.handler_settings = insert_settings();
  DaemonSettings batch = single;
  single.handler_keys = "concurrency: 2, events_per_call: 500";
  batch.handler_keys = "mode: batch, batch: {every: 100ms, max_events: 5000}, concurrency: 2";
  std::vector<double> ratios;
  std::int64_t memory = 0;
  for (int round = 0; round < options.rounds; ++round) {
    const DaemonRun without = drain_with_sql(bench, single);
    report.run("single, 500 per call", without.settled);
    const DaemonRun with = drain_with_sql(bench, batch);
    report.run("batch, 5,000 per call", with.settled);
    ratios.push_back(with.settled.rate() / without.settled.rate());
    memory = std::max(memory, with.peak_memory);
  }
  report.run("batch, group_by: key, 10,000 keys, no-op plugin", run_groups(options, 10'000));
  const double ratio = median(ratios);
  report.goal("batch, sql, 5,000 per call, of single at 500", fixed(ratio, 2), ">= 1.00", ratio >= 1);
  report.goal("peak memory, one window of all events", mebibytes(memory), "< 250 MiB", memory < max_memory);
}

}  // namespace inboxd::bench
