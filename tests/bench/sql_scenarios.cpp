// Handlers whose writes and "done" share a transaction: the sql handler, a C++ handler, and the usual hand-written
// loop.
#include <stdexcept>
#include <thread>

#include "application_table.hpp"
#include "in_process_inbox.hpp"
#include "kafka_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr int set_workers = 2;
constexpr int single_workers = 8;
constexpr int enough_connections = 24;
constexpr auto poll_interval = std::chrono::milliseconds{20};
constexpr auto drain_limit = std::chrono::minutes{10};

DaemonSettings as_sql(DaemonSettings settings, int workers, int events_per_call) {
  settings.plugin = "sql";
  settings.handler_settings = insert_settings();
  settings.handler_keys =
      "concurrency: " + std::to_string(workers) + ", events_per_call: " + std::to_string(events_per_call);
  settings.connections = enough_connections;
  return settings;
}

DaemonSettings as_insert_handler(DaemonSettings settings) {
  settings.plugin = BENCH_INSERT_HANDLER;
  settings.handler_keys = "concurrency: " + std::to_string(single_workers) + ", group: 50";
  settings.connections = enough_connections;
  return settings;
}

/// From Kafka, into an empty table that is checked afterwards.
MeasuredRun measure_inserts(KafkaBench& bench, const DaemonSettings& settings) {
  create_application_table(bench.control);
  const MeasuredRun run = bench.daemon(settings).settled;
  check_application_table(bench.control, bench.options.events);
  return run;
}

void wait_settled(BenchDaemon& daemon, PostgresSession& session, std::int64_t events) {
  const auto end = std::chrono::steady_clock::now() + drain_limit;
  while (session.number("select count(*) from inbox.delivery") > 0 ||
         session.number("select count(*) from bench_application.applied") < events) {
    if (!daemon.is_running()) daemon.wait();
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error{"timed out: the daemon has events pending"};
    std::this_thread::sleep_for(poll_interval);
  }
}

/// Ingest from this process, while the daemon, which has nothing to consume, claims and handles the events.
MeasuredRun measure_inserts_from_memory(const Options& options, const DaemonSettings& settings,
                                        PostgresSession& control, const std::string& backlog) {
  create_application_table(control);
  InProcessInbox local_inbox{options, settings.database_url, backlog, 1};
  BenchDaemon daemon{options, settings, false};
  while (control.number("select count(*) from inbox.instance") == 0) {
    if (!daemon.is_running()) daemon.wait();
    std::this_thread::sleep_for(poll_interval);
  }
  CostMeasurement measurement{control, options.kafka};
  MeasuredRun run;
  run.events = local_inbox.ingest({.seed = 1, .lease = std::chrono::milliseconds{0}}).events;
  wait_settled(daemon, control, run.events);
  run.cost = measurement.stop();
  run.seconds = control.real(
      "select extract(epoch from (select max(finished_at) from inbox.outcome) -"
      " (select min(received_at) from inbox.event))");
  daemon.stop();
  run.cost.own_cpu = daemon.cpu_seconds();
  check_counts(control, run.events, run.events);
  check_application_table(control, run.events);
  return run;
}

}  // namespace

void measure_sql_statement(const Options& options, Report& report) {
  KafkaBench bench{options};
  report.run("no-op plugin", bench.daemon(bench.settings()).settled);
  const double rate = median_rate(options, report, "sql, 500 per call",
                                  [&] { return measure_inserts(bench, as_sql(bench.settings(), set_workers, 500)); });
  report.goal("sql statement, 500 events per call, from Kafka", rate_text(rate), ">= 80k/s", rate >= 80'000);
}

void measure_sql_memory(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  PostgresSession control{database.url()};
  const Topic empty{options.kafka, options.partitions};
  DaemonSettings settings;
  settings.database_url = database.url();
  settings.topic = empty.name();
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun limit = run_insert_limit(options, database.url(), set_workers);
    report.run("limit", limit);
    const MeasuredRun run =
        measure_inserts_from_memory(options, as_sql(settings, set_workers, 500), control, "inboxd-bench-backlog");
    report.run("sql, 500 per call", run);
    ratios.push_back(run.rate() / limit.rate());
  }
  report.goal("sql statement without a broker, of the limit", fixed(median(ratios), 2), ">= 0.60",
              median(ratios) >= 0.6);
}

void measure_sql_single(const Options& options, Report& report) {
  KafkaBench bench{options};
  const double rate = median_rate(options, report, "sql, 1 per call",
                                  [&] { return measure_inserts(bench, as_sql(bench.settings(), single_workers, 1)); });
  report.goal("sql statement, one event per call, concurrency 8", rate_text(rate), ">= 8k/s", rate >= 8'000);
}

void measure_sql_group(const Options& options, Report& report) {
  KafkaBench bench{options};
  const double rate = median_rate(options, report, "C++, group 50",
                                  [&] { return measure_inserts(bench, as_insert_handler(bench.settings())); });
  report.goal("C++ handler, one insert per event, group: 50", rate_text(rate), ">= 15k/s", rate >= 15'000);
}

void measure_hand_written(const Options& options, Report& report) {
  KafkaBench bench{options};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun loop = run_hand_written(options, bench.database.url(), single_workers);
    report.run("by hand", loop);
    const MeasuredRun statement = measure_inserts(bench, as_sql(bench.settings(), set_workers, 500));
    report.run("sql, 500 per call", statement);
    report.run("C++, group 50", measure_inserts(bench, as_insert_handler(bench.settings())));
    ratios.push_back(statement.rate() / loop.rate());
  }
  report.goal("sql statement from Kafka, of the hand-written loop", fixed(median(ratios), 2) + " times", ">= 5 times",
              median(ratios) >= 5);
}

}  // namespace inboxd::bench
