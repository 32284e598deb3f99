#pragma once
#include "options.hpp"
#include "run.hpp"
#include "session.hpp"

namespace inboxd::bench {

/// The most that this server takes: the rows of a run through as many connections as ingest has, in batches of the
/// same size, with binary `unnest` into one event table with a uuid key. No ledger, no deliveries, no daemon.
Run run_limit(const Options& options, const std::string& database_url);

}  // namespace inboxd::bench
