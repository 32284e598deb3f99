#pragma once
#include <string>

#include "daemon.hpp"
#include "options.hpp"
#include "run.hpp"

namespace inboxd::bench {

/// One measured life of the daemon.
struct DaemonRun {
  Run stored;                                  ///< from the first batch's time to the last one's
  Run settled;                                 ///< to the last outcome
  std::int64_t peak_memory = 0;
};

/// The schema as `inboxd migrate` makes it, empty.
void fresh_inbox(const Options& options, const DaemonSettings& settings, Session& control);

/// One life of the daemon on the schema as it is, until all is settled. Times are those that the database noted.
DaemonRun run_daemon_here(const Options& options, const DaemonSettings& settings, Session& control);

/// Empties the schema, lets the daemon work a preloaded topic off and looks whether the counts are right: every event
/// once, an outcome for each of `settings.handlers`.
DaemonRun run_daemon(const Options& options, const DaemonSettings& settings, Session& control, std::int64_t events);

/// Whether everything is in the inbox and has `outcomes` done outcomes; throws where it is not.
void check_counts(Session& session, std::int64_t events, std::int64_t outcomes);

}  // namespace inboxd::bench
