#include "kafka_bench.hpp"
#include "scenarios.hpp"
#include "scraper.hpp"
#include "support/collector.hpp"
#include "support/test_environment.hpp"

namespace inboxd::bench {
namespace {

constexpr double max_memory = 10 << 20;

/// A configuration's figures, a value per round.
struct Rounds {
  std::vector<double> rate, own, cpu, memory;  ///< CPU in us per event: daemon; daemon and PostgreSQL
  void add(const DaemonRun& run) {
    rate.push_back(run.stored.rate());
    const Cost& cost = run.stored.cost;
    const auto events = static_cast<double>(run.stored.events);
    own.push_back(cost.own_cpu / events * 1e6);
    cpu.push_back((cost.own_cpu + cost.postgres_cpu) / events * 1e6);
    memory.push_back(static_cast<double>(run.peak_memory));
  }
  std::string last() const {
    return rate_text(rate.back()) + ", CPU an event " + fixed(own.back(), 2) + " us, with PostgreSQL " +
           fixed(cpu.back(), 2) + " us, " + mebibytes(static_cast<std::int64_t>(memory.back()));
  }
};

void measure_ingest(KafkaBench& bench, Report& report) {
  const int port = support::free_port();
  const auto watched = [&](const support::Collector& collector, const std::string& sample) {
    DaemonSettings out = bench.settings();
    out.admin = admin_at(port);
    out.tracing = "{endpoint: \"" + collector.endpoint() + "\", sample: " + sample + "}";
    return out;
  };
  Rounds on, off;
  std::vector<double> ratios;
  for (int round = 0; round < bench.options.rounds; ++round) {
    const auto measure_off = [&] {
      off.add(bench.daemon(bench.settings()));
      report.note("off: " + off.last());
    };
    const auto measure_on = [&] {
      const support::Collector collector;
      const Scraper scraper{port};
      on.add(bench.daemon(watched(collector, "0.01")));
      report.note("on:  " + on.last() + ", spans " + std::to_string(collector.count("\"spanId\"")));
    };
    // Alternate the order: the second run finds warmer caches.
    if (round % 2 == 0) measure_off();
    measure_on();
    if (round % 2 != 0) measure_off();
    ratios.push_back(on.rate.back() / off.rate.back());
  }
  const double ratio = median(ratios), more = (median(on.own) - median(off.own)) / median(off.cpu);
  const double memory = median(on.memory) - median(off.memory);
  report.goal("all on (1 of 100 events traced), of the rate with all off", fixed(ratio, 3), ">= 0.98", ratio >= 0.98);
  report.goal("the same, more CPU of the daemon, of the total per event", fixed(more * 100, 2) + " %", "< 2 %",
              more < 0.02);
  report.goal("the same, resident memory", mebibytes(static_cast<std::int64_t>(memory)) + " more", "< 10 MiB",
              memory < max_memory);
  for (const std::string sample : {"0", "1"}) {
    const support::Collector collector;
    Rounds one;
    one.add(bench.daemon(watched(collector, sample)));
    report.note("sample " + sample + ": " + one.last() + ", spans " + std::to_string(collector.count("\"spanId\"")));
  }
  Rounds scraped;
  DaemonSettings settings = bench.settings();
  settings.admin = admin_at(port);
  const Scraper scraper{port};
  scraped.add(bench.daemon(settings));
  report.note("admin port and scrapes alone: " + scraped.last());
}

}  // namespace

void measure_operation_cost(const Options& options, Report& report) {
  KafkaBench bench{options};
  measure_ingest(bench, report);
}

}  // namespace inboxd::bench
