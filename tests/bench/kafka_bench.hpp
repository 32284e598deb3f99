#pragma once
#include "daemon_run.hpp"
#include "generator.hpp"
#include "limit.hpp"
#include "options.hpp"
#include "path.hpp"
#include "session.hpp"
#include "topic.hpp"

namespace inboxd::bench {

/// A filled topic and a database of its own for one scenario.
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
  PathRates path() const { return run_path(options, database.url(), topic.name()); }
  Run limit() const { return run_limit(options, database.url()); }

  const Options& options;
  ScratchDatabase database;
  Session control;
  Topic topic;
};

}  // namespace inboxd::bench
