// `inboxd verify`: records read back from Kafka per second, and ingest beside it at the default rate.
#include <atomic>
#include <chrono>
#include <thread>

#include "kafka_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

MeasuredRun verify(const KafkaBench& bench, const std::string& against, const std::vector<std::string>& more = {}) {
  const auto began = Clock::now();
  std::vector<std::string> command{"verify", "--against", against};
  command.insert(command.end(), more.begin(), more.end());
  BenchDaemon::run_command(bench.options, bench.settings(), command);
  MeasuredRun out;
  out.events = bench.options.events;
  out.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return out;
}

}  // namespace

void measure_verify(const Options& options, Report& report) {
  KafkaBench stored{options};
  KafkaBench bench{options};
  static_cast<void>(stored.daemon(stored.settings()));
  std::vector<double> rates, ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun log = verify(stored, "kafka", {"--rate", "0"});
    report.run("log", log);
    rates.push_back(log.rate());
    report.run("database", verify(stored, "database"));
    const MeasuredRun alone = bench.daemon(bench.settings()).stored;
    report.run("ingest alone", alone);
    std::atomic<bool> stopping{false};
    std::thread verifying{[&] {
      while (!stopping) static_cast<void>(verify(stored, "kafka"));
    }};
    const MeasuredRun beside = bench.daemon(bench.settings()).stored;
    stopping = true;
    verifying.join();
    report.run("ingest beside it", beside);
    ratios.push_back(beside.rate() / alone.rate());
  }
  report.goal("records verified against Kafka", rate_text(median(rates)), ">= 200k/s", median(rates) >= 200'000);
  report.goal("ingest beside a verification, of that alone", fixed(median(ratios), 2), ">= 0.90",
              median(ratios) >= 0.9);
}

}  // namespace inboxd::bench
