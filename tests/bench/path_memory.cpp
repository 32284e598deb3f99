#include "feed.hpp"
#include "path.hpp"
#include "path_store.hpp"

namespace inboxd::bench {

Run run_path_from_memory(const Options& options, const std::string& database_url) {
  Session control{database_url};
  PathStore::create(control, options.partitions);
  Run run;
  run.events = Feed::total(options);
  Meter meter{control, options.kafka};
  on_threads(options.connections, [&](int worker) {
    PathStore store{database_url};
    Feed feed{options, worker, 1};
    FeedBatch batch;
    while (feed.next(batch)) store.store(batch);
  });
  run.cost = meter.stop();
  run.seconds = run.cost.seconds;
  control.run("drop schema bench_path cascade");
  return run;
}

}  // namespace inboxd::bench
