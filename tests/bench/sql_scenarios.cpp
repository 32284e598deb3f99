// Handlers whose effect and "done" are one transaction: the shipped sql handler, a C++ handler, and what teams write by
// hand instead.
#include <stdexcept>
#include <thread>

#include "book.hpp"
#include "kafka_bench.hpp"
#include "room.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr int set_workers = 2;
constexpr int single_workers = 8;
constexpr int enough_connections = 24;
constexpr auto between_looks = std::chrono::milliseconds{20};
constexpr auto drain_limit = std::chrono::minutes{10};

DaemonSettings as_sql(DaemonSettings settings, int workers, int events_per_call) {
  settings.plugin = "sql";
  settings.handler_settings = book_settings();
  settings.handler_keys =
      "concurrency: " + std::to_string(workers) + ", events_per_call: " + std::to_string(events_per_call);
  settings.connections = enough_connections;
  return settings;
}

DaemonSettings as_booker(DaemonSettings settings) {
  settings.plugin = BENCH_BOOKER;
  settings.handler_keys = "concurrency: " + std::to_string(single_workers) + ", group: 50";
  settings.connections = enough_connections;
  return settings;
}

/// From Kafka, with an empty book before and a right one afterwards.
Run booked(KafkaBench& bench, const DaemonSettings& settings) {
  create_book(bench.control);
  const Run run = bench.daemon(settings).settled;
  check_book(bench.control, bench.options.events);
  return run;
}

/// Medians of `rounds` rates.
template <class Measure>
double rate_of(const Options& options, Report& report, const char* kind, Measure measure) {
  std::vector<double> rates;
  for (int round = 0; round < options.rounds; ++round) {
    const Run run = measure();
    report.run(kind, run);
    rates.push_back(run.rate());
  }
  return median(rates);
}

void wait_settled(Daemon& daemon, Session& session, std::int64_t events) {
  const auto end = std::chrono::steady_clock::now() + drain_limit;
  while (session.number("select count(*) from inbox.delivery") > 0 ||
         session.number("select count(*) from bench_book.booked") < events) {
    if (!daemon.is_running()) daemon.wait();
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error{"the daemon does not work it off"};
    std::this_thread::sleep_for(between_looks);
  }
}

/// Ingest from this process; the daemon, which has nothing to consume, claims and works it off meanwhile.
Run booked_from_memory(const Options& options, const DaemonSettings& settings, Session& control,
                       const std::string& backlog) {
  create_book(control);
  Room room{options, settings.database_url, backlog, 1};
  Daemon daemon{options, settings, false};
  while (control.number("select count(*) from inbox.instance") == 0) {
    if (!daemon.is_running()) daemon.wait();
    std::this_thread::sleep_for(between_looks);
  }
  Meter meter{control, options.kafka};
  Run run;
  run.events = room.ingest({.seed = 1, .lease = std::chrono::milliseconds{0}}).events;
  wait_settled(daemon, control, run.events);
  run.cost = meter.stop();
  run.seconds = control.real(
      "select extract(epoch from (select max(finished_at) from inbox.outcome) -"
      " (select min(received_at) from inbox.event))");
  daemon.stop();
  run.cost.own_cpu = daemon.cpu_seconds();
  check_counts(control, run.events, run.events);
  check_book(control, run.events);
  return run;
}

}  // namespace

void measure_sql_statement(const Options& options, Report& report) {
  KafkaBench bench{options};
  report.run("no-op plugin", bench.daemon(bench.settings()).settled);
  const double rate = rate_of(options, report, "sql, 500 a call",
                              [&] { return booked(bench, as_sql(bench.settings(), set_workers, 500)); });
  report.goal("sql statement, 500 events a call, from Kafka", rate_text(rate), ">= 80k/s", rate >= 80'000);
}

void measure_sql_memory(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  Session control{database.url()};
  const Topic empty{options.kafka, options.partitions};
  DaemonSettings settings;
  settings.database_url = database.url();
  settings.topic = empty.name();
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const Run limit = run_book_limit(options, database.url(), set_workers);
    report.run("limit", limit);
    const Run run = booked_from_memory(options, as_sql(settings, set_workers, 500), control, "inboxd-bench-backlog");
    report.run("sql, 500 a call", run);
    ratios.push_back(run.rate() / limit.rate());
  }
  report.goal("sql statement without a broker, of the limit", fixed(median(ratios), 2), ">= 0.60",
              median(ratios) >= 0.6);
}

void measure_sql_single(const Options& options, Report& report) {
  KafkaBench bench{options};
  const double rate = rate_of(options, report, "sql, 1 a call",
                              [&] { return booked(bench, as_sql(bench.settings(), single_workers, 1)); });
  report.goal("sql statement, one event a call, concurrency 8", rate_text(rate), ">= 8k/s", rate >= 8'000);
}

void measure_sql_group(const Options& options, Report& report) {
  KafkaBench bench{options};
  const double rate =
      rate_of(options, report, "C++, group 50", [&] { return booked(bench, as_booker(bench.settings())); });
  report.goal("C++ handler, one insert an event, group: 50", rate_text(rate), ">= 15k/s", rate >= 15'000);
}

void measure_hand_written(const Options& options, Report& report) {
  KafkaBench bench{options};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const Run loop = run_hand_written(options, bench.database.url(), single_workers);
    report.run("by hand", loop);
    const Run statement = booked(bench, as_sql(bench.settings(), set_workers, 500));
    report.run("sql, 500 a call", statement);
    report.run("C++, group 50", booked(bench, as_booker(bench.settings())));
    ratios.push_back(statement.rate() / loop.rate());
  }
  report.goal("sql statement from Kafka, of the hand-written loop", fixed(median(ratios), 2) + " times", ">= 2 times",
              median(ratios) >= 2);
}

}  // namespace inboxd::bench
