// Ingest without a broker: the room `inbox` called from this process with generated records.
#include <stdexcept>

#include "limit.hpp"
#include "path.hpp"
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
    const Run limit = run_limit(options, database.url());
    report.run("limit", limit);
    report.run("path", run_path_from_memory(options, database.url()));
    Room room{options, database.url(), topic, options.handlers};
    const Run run = room.ingest({});
    report.run("inboxd", run);
    ratios.push_back(run.rate() / limit.rate());
  }
  report.goal("ingest from memory, of the limit", fixed(median(ratios), 2), ">= 0.70", median(ratios) >= 0.7);
}

void measure_duplicates(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  std::vector<double> rates;
  Room room{options, database.url(), topic, options.handlers};
  report.run("first time", room.ingest({}));
  for (int round = 0; round < options.rounds; ++round) {
    Room::Counts counts;
    const Run run = room.ingest({}, &counts);
    report.run("duplicates", run);
    if (counts.stored != 0) throw std::runtime_error{"duplicates: some were stored again"};
    rates.push_back(run.rate());
  }
  report.goal("all records duplicates, from memory", rate_text(median(rates)), ">= 250k/s", median(rates) >= 250'000);
}

}  // namespace inboxd::bench
