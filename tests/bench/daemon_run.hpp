#pragma once
#include <string>

#include "bench_daemon.hpp"
#include "measured_run.hpp"
#include "options.hpp"

namespace inboxd::bench {

struct DaemonRun {
  MeasuredRun stored;   ///< from the first batch to the last
  MeasuredRun settled;  ///< to the last outcome
  std::int64_t peak_memory = 0;
};

/// Replaces the schema by an empty, migrated schema.
void fresh_inbox(const Options& options, const DaemonSettings& settings, PostgresSession& control);

/// Runs the daemon on the schema as it is, until all events are settled. Times come from the database.
DaemonRun run_daemon_here(const Options& options, const DaemonSettings& settings, PostgresSession& control);

/// Runs on an empty schema and a preloaded topic. Checks the counts: every event once, an outcome per handler.
DaemonRun run_daemon(const Options& options, const DaemonSettings& settings, PostgresSession& control,
                     std::int64_t events);

/// Throws unless all events are stored and have `outcomes` done outcomes.
void check_counts(PostgresSession& session, std::int64_t events, std::int64_t outcomes);

}  // namespace inboxd::bench
