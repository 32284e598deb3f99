#include "delay_proxy.hpp"
#include "kafka_bench.hpp"
#include "reference_machine.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr double mebibyte = 1 << 20;

double for_each_event(const MeasuredRun& run, double Cost::*part) {
  return run.cost.*part / static_cast<double>(run.events);
}

/// Columns of an end-to-end run, a value per round.
struct Columns {
  std::vector<double> ratio, own_us, own_ratio, postgres_ratio, wal_bytes, memory_bytes;

  void add(const MeasuredRun& baseline, const DaemonRun& daemon) {
    const MeasuredRun& run = daemon.settled;
    ratio.push_back(run.rate() / baseline.rate());
    own_us.push_back(for_each_event(run, &Cost::own_cpu) * 1e6);
    own_ratio.push_back(for_each_event(run, &Cost::own_cpu) / for_each_event(baseline, &Cost::own_cpu));
    postgres_ratio.push_back(for_each_event(run, &Cost::postgres_cpu) / for_each_event(baseline, &Cost::postgres_cpu));
    wal_bytes.push_back(for_each_event(run, &Cost::wal_bytes));
    memory_bytes.push_back(static_cast<double>(daemon.peak_memory));
  }
};

}  // namespace

void measure_ingest_kafka(const Options& options, Report& report) {
  KafkaBench bench{options};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    report.run("limit", bench.limit());
    const MeasuredRun baseline = bench.baseline().stored;
    report.run("baseline, stored", baseline);
    const MeasuredRun run = bench.daemon(bench.settings(options.handlers)).stored;
    report.run("inboxd, stored", run);
    ratios.push_back(run.rate() / baseline.rate());
  }
  report.goal("stored from Kafka, of the baseline", fixed(median(ratios), 2), ">= 0.85", median(ratios) >= 0.85);
}

void measure_end_to_end(const Options& options, Report& report) {
  KafkaBench bench{options};
  Columns all;
  for (int round = 0; round < options.rounds; ++round) {
    report.run("limit", bench.limit());
    const MeasuredRun baseline = bench.baseline().settled;
    report.run("baseline", baseline);
    const DaemonRun daemon = bench.daemon(bench.settings(options.handlers));
    report.run("inboxd", daemon.settled);
    all.add(baseline, daemon);
  }
  const double ratio = median(all.ratio), own = median(all.own_us), memory = median(all.memory_bytes);
  const double postgres = median(all.postgres_ratio);
  report.goal("end to end from Kafka, of the baseline", fixed(ratio, 2), ">= 0.80", ratio >= 0.8);
  report.goal("CPU of the daemon per event",
              fixed(own, 2) + " us (baseline: " + fixed(own / median(all.own_ratio), 2) + ")", "<= 2.5 us", own <= 2.5);
  const double carried = median(all.own_ratio) * reference::baseline_us;
  report.goal("the same where the baseline takes " + fixed(reference::baseline_us, 1) + " us",
              fixed(carried, 2) + " us", "<= 2.5 us", carried <= 2.5);
  report.goal("CPU of PostgreSQL, of the baseline's", fixed(postgres, 2), "<= 1.15", postgres <= 1.15);
  report.goal("resident memory at full load", mebibytes(static_cast<std::int64_t>(memory)), "< 200 MiB",
              memory < 200 * mebibyte);
}

void measure_wal(const Options& options, Report& report) {
  KafkaBench bench{options};
  const MeasuredRun run = bench.daemon(bench.settings()).settled;
  report.run("inboxd", run);
  const double bytes = for_each_event(run, &Cost::wal_bytes);
  report.goal("WAL per event of " + std::to_string(options.payload) + " B, settled", fixed(bytes, 0) + " B",
              "< 800 B (256 B payload)", bytes < 800);
}

void measure_three_handlers(const Options& options, Report& report) {
  KafkaBench bench{options};
  std::vector<double> costs;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun one = bench.daemon(bench.settings(1)).settled;
    report.run("one handler", one);
    const MeasuredRun three = bench.daemon(bench.settings(3)).settled;
    report.run("three handlers", three);
    costs.push_back(1 - three.rate() / one.rate());
  }
  report.goal("loss of rate with three handlers against one", fixed(median(costs) * 100, 0) + " %", "< 20 %",
              median(costs) < 0.2);
}

void measure_retries(const Options& options, Report& report) {
  KafkaBench bench{options};
  DaemonSettings failing = bench.settings();
  failing.handler_settings = "{failures: 2}";
  failing.handler_keys += ", retry: {backoff: fixed, base: 100ms, jitter: 0}";
  std::vector<double> ratios, wal;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun smooth = bench.daemon(bench.settings()).settled;
    report.run("no failures", smooth);
    const MeasuredRun run = bench.daemon(failing).settled;
    report.run("two failures", run);
    ratios.push_back(run.rate() / smooth.rate());
    wal.push_back(run.cost.wal_bytes / smooth.cost.wal_bytes);
  }
  report.goal("every event fails twice: of the rate without failures", fixed(median(ratios), 2), ">= 0.30",
              median(ratios) >= 0.3);
  report.goal("every event fails twice: WAL", fixed(median(wal), 2) + " times", "< 3 times", median(wal) < 3);
}

void measure_remote(const Options& options, Report& report) {
  KafkaBench bench{options};
  const int port = std::stoi(url_part(options.postgres, "port"));
  DelayProxy near{port, std::chrono::microseconds{0}}, far{port, std::chrono::milliseconds{1}};
  const auto through = [&](const DelayProxy& proxy) {
    DaemonSettings settings = bench.settings();
    settings.database_url = bench.database.url_at("127.0.0.1", proxy.port());
    return settings;
  };
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun local = bench.daemon(bench.settings()).settled;
    report.run("local", local);
    report.run("proxy, 0 ms", bench.daemon(through(near)).settled);
    const MeasuredRun remote = bench.daemon(through(far)).settled;
    report.run("proxy, 1 ms", remote);
    ratios.push_back(remote.rate() / local.rate());
  }
  report.goal("database 1 ms away, of the local rate", fixed(median(ratios), 2), ">= 0.70", median(ratios) >= 0.7);
}

}  // namespace inboxd::bench
