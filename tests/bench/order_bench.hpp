#pragma once
#include <string>

#include "kafka_bench.hpp"

namespace inboxd::bench {

/// A topic whose records have keys, and a database.
struct OrderBench {
  OrderBench(const Options& asked, Topic::Keys keys)
      : options{asked}, database{asked.postgres}, control{database.url()}, topic{asked.kafka, asked.partitions} {
    topic.preload_keyed(Generator{1, options.payload}, options.events, keys);
  }

  DaemonSettings settings(const std::string& mode, const std::string& more) const {
    DaemonSettings out;
    out.database_url = database.url();
    out.topic = topic.name();
    out.envelope = "outbox-router";
    out.handler_keys = "mode: " + mode + ", " + more;
    return out;
  }
  /// Until all events are settled, on an empty schema.
  MeasuredRun run(const DaemonSettings& settings) {
    return run_daemon(options, settings, control, options.events).settled;
  }

  const Options& options;
  ScratchDatabase database;
  PostgresSession control;
  Topic topic;
};

}  // namespace inboxd::bench
