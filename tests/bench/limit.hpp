#pragma once
#include "measured_run.hpp"
#include "options.hpp"
#include "postgres_session.hpp"

namespace inboxd::bench {

/// The limit of this server: the same rows through as many connections as ingest has, in batches of the same size, by
/// binary `unnest` into a single event table with a uuid key. No ledger, no deliveries, no daemon.
MeasuredRun run_limit(const Options& options, const std::string& database_url);

}  // namespace inboxd::bench
