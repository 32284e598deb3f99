// From a real broker: topics that are filled beforehand, the daemon as a process of its own.
#include <unistd.h>

#include "daemon_run.hpp"
#include "limit.hpp"
#include "path.hpp"
#include "scenarios.hpp"
#include "session.hpp"
#include "topic.hpp"

namespace inboxd::bench {
namespace {

/// A filled topic and a database of its own for one scenario.
struct Bench {
  explicit Bench(const Options& options)
      : database{options.postgres},
        topic{options.kafka, "inboxd-bench-" + std::to_string(getpid()), options.partitions},
        events{options.events} {
    topic.preload(Generator{1, options.payload}, 0, events);
  }
  DaemonSettings settings(int handlers) const {
    return {.database_url = database.url(), .topic = topic.name(), .handlers = handlers};
  }

  ScratchDatabase database;
  Topic topic;
  std::int64_t events;
};

double cpu_of_postgres(const Run& run) { return run.cost.postgres_cpu * 1e6 / static_cast<double>(run.events); }
double own_cpu(const Run& run) { return run.cost.own_cpu * 1e6 / static_cast<double>(run.events); }

}  // namespace

void measure_ingest_kafka(const Options& options, Report& report) {
  const Bench bench{options};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const Run limit = run_limit(options, bench.database.url());
    report.run("limit", limit);
    const Run path = run_path(options, bench.database.url(), bench.topic.name()).stored;
    report.run("path, stored", path);
    const Run run = run_daemon(options, bench.settings(options.handlers), bench.events).stored;
    report.run("inboxd, stored", run);
    ratios.push_back(run.rate() / path.rate());
  }
  report.goal("stored from Kafka, of the path", fixed(median(ratios), 2), ">= 0.85", median(ratios) >= 0.85);
}

void measure_end_to_end(const Options& options, Report& report) {
  const Bench bench{options};
  std::vector<double> ratios, own, postgres, wal, memory;
  for (int round = 0; round < options.rounds; ++round) {
    report.run("limit", run_limit(options, bench.database.url()));
    const Run path = run_path(options, bench.database.url(), bench.topic.name()).settled;
    report.run("path", path);
    const DaemonRun daemon = run_daemon(options, bench.settings(options.handlers), bench.events);
    const Run& run = daemon.settled;
    report.run("inboxd", run);
    ratios.push_back(run.rate() / path.rate());
    own.push_back(own_cpu(run));
    postgres.push_back(cpu_of_postgres(run) / cpu_of_postgres(path));
    wal.push_back(run.cost.wal_bytes / static_cast<double>(run.events));
    memory.push_back(static_cast<double>(daemon.peak_memory));
  }
  report.goal("end to end from Kafka, of the path", fixed(median(ratios), 2), ">= 0.80", median(ratios) >= 0.8);
  report.goal("CPU of the daemon for an event", fixed(median(own), 2) + " us", "<= 2.5 us", median(own) <= 2.5);
  report.goal("CPU of PostgreSQL, of the path's", fixed(median(postgres), 2), "<= 1.15", median(postgres) <= 1.15);
  report.goal("WAL for an event, all settled", fixed(median(wal), 0) + " B", "< 800 B (256 B payload)",
              median(wal) < 800);
  report.goal("resident memory at full load", mebibytes(static_cast<std::int64_t>(median(memory))), "< 200 MiB",
              median(memory) < 200.0 * (1 << 20));
}

void measure_three_handlers(const Options& options, Report& report) {
  const Bench bench{options};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const Run one = run_daemon(options, bench.settings(1), bench.events).settled;
    report.run("one handler", one);
    const Run three = run_daemon(options, bench.settings(3), bench.events).settled;
    report.run("three handlers", three);
    ratios.push_back(1 - three.rate() / one.rate());
  }
  report.goal("three handlers cost of the rate of one", fixed(median(ratios) * 100, 0) + " %", "< 20 %",
              median(ratios) < 0.2);
}

}  // namespace inboxd::bench
