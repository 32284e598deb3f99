// Ingest without a broker: `src/inbox` called from this process with generated records.
#include <stdexcept>

#include "in_process_inbox.hpp"
#include "kafka_bench.hpp"
#include "reference_machine.hpp"
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
      report.run("inboxd", InProcessInbox{options, database.url(), topic, options.handlers}.ingest({}));
      continue;
    }
    const MeasuredRun limit = run_limit(options, database.url());
    report.run("limit", limit);
    report.run("baseline", run_baseline_from_memory(options, database.url()));
    InProcessInbox local_inbox{options, database.url(), topic, options.handlers};
    const MeasuredRun run = local_inbox.ingest({});
    report.run("inboxd", run);
    ratios.push_back(run.rate() / limit.rate());
  }
  if (options.profile) return;
  report.goal("ingest from memory, of the limit", fixed(median(ratios), 2), ">= 0.70", median(ratios) >= 0.7);
}

void measure_key_index(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  PostgresSession session{database.url()};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun without = InProcessInbox{options, database.url(), topic, options.handlers}.ingest({});
    report.run("without", without);
    InProcessInbox indexed{options, database.url(), topic, options.handlers};
    session.run("create index event_key on inbox.event (substr(key, 1, 256), received_at)");
    const MeasuredRun with = indexed.ingest({});
    report.run("with", with);
    report.note("the index has " +
                mebibytes(session.number("select sum(pg_relation_size(inhrelid)) from pg_inherits where inhparent = "
                                         "'inbox.event_key'::regclass")));
    ratios.push_back(with.rate() / without.rate());
  }
  report.note("ingest with the index by key, of that without: " + fixed(median(ratios), 2));
}

void measure_duplicates(const Options& options, Report& report) {
  KafkaBench bench{options};
  RatesBesideBaseline rounds;
  InProcessInbox local_inbox{options, bench.database.url(), topic, options.handlers};
  report.run("first time", local_inbox.ingest({}));
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun baseline = bench.baseline().settled;
    report.run("baseline", baseline);
    InProcessInbox::Counts counts;
    const MeasuredRun run = local_inbox.ingest({}, &counts);
    report.run("duplicates", run);
    if (counts.stored != 0) throw std::runtime_error{"duplicates: some were stored again"};
    rounds.add(run, baseline);
  }
  goal_of_rate(report, "all records duplicates, from memory", rounds, 250'000);
}

}  // namespace inboxd::bench
