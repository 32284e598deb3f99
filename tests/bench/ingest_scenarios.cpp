// Ingest of records that come from no broker: the room `inbox` called from this process with generated records.
#include <stdexcept>

#include "kafka_bench.hpp"
#include "reference.hpp"
#include "room.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr const char* topic = "bench";

}  // namespace

void measure_ingest_memory(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    if (options.profile) {
      report.run("inboxd", Room{options, database.url(), topic, options.handlers}.ingest({}));
      continue;
    }
    const Run limit = run_limit(options, database.url());
    report.run("limit", limit);
    report.run("path", run_path_from_memory(options, database.url()));
    Room room{options, database.url(), topic, options.handlers};
    const Run run = room.ingest({});
    report.run("inboxd", run);
    ratios.push_back(run.rate() / limit.rate());
  }
  if (options.profile) return;
  report.goal("ingest from memory, of the limit", fixed(median(ratios), 2), ">= 0.70", median(ratios) >= 0.7);
}

void measure_duplicates(const Options& options, Report& report) {
  KafkaBench bench{options};
  RatesBesidePath rounds;
  Room room{options, bench.database.url(), topic, options.handlers};
  report.run("first time", room.ingest({}));
  for (int round = 0; round < options.rounds; ++round) {
    const Run path = bench.path().settled;
    report.run("path", path);
    Room::Counts counts;
    const Run run = room.ingest({}, &counts);
    report.run("duplicates", run);
    if (counts.stored != 0) throw std::runtime_error{"duplicates: some were stored again"};
    rounds.add(run, path);
  }
  goal_of_rate(report, "all records duplicates, from memory", rounds, 250'000);
}

}  // namespace inboxd::bench
