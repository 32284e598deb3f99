#include "baseline.hpp"
#include "baseline_store.hpp"
#include "event_source.hpp"

namespace inboxd::bench {

MeasuredRun run_baseline_from_memory(const Options& options, const std::string& database_url) {
  PostgresSession control{database_url};
  BaselineStore::create(control, options.partitions);
  MeasuredRun run;
  run.events = EventSource::total(options);
  CostMeasurement measurement{control, options.kafka};
  on_threads(options.connections, [&](int worker) {
    BaselineStore store{database_url};
    EventSource source{options, worker, 1};
    SourceBatch batch;
    while (source.next(batch)) store.store(batch);
  });
  run.cost = measurement.stop();
  run.seconds = run.cost.seconds;
  control.run("drop schema bench_baseline cascade");
  return run;
}

}  // namespace inboxd::bench
