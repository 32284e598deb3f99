#pragma once
#include "baseline.hpp"
#include "daemon_run.hpp"
#include "generator.hpp"
#include "limit.hpp"
#include "options.hpp"
#include "postgres_session.hpp"
#include "topic.hpp"

namespace inboxd::bench {

/// A preloaded topic and a database for a scenario.
struct KafkaBench {
  explicit KafkaBench(const Options& asked)
      : options{asked}, database{asked.postgres}, control{database.url()}, topic{asked.kafka, asked.partitions} {
    topic.preload(Generator{1, options.payload}, 0, options.events);
  }

  DaemonSettings settings(int handlers = 1) const {
    DaemonSettings out;
    out.database_url = database.url();
    out.topic = topic.name();
    out.handlers = handlers;
    return out;
  }
  DaemonRun daemon(const DaemonSettings& settings) { return run_daemon(options, settings, control, options.events); }
  BaselineRates baseline() const { return run_baseline(options, database.url(), topic.name()); }
  MeasuredRun limit() const { return run_limit(options, database.url()); }

  const Options& options;
  ScratchDatabase database;
  PostgresSession control;
  Topic topic;
};

}  // namespace inboxd::bench
