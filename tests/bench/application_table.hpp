#pragma once
#include <string>

#include "measured_run.hpp"
#include "options.hpp"
#include "postgres_session.hpp"

namespace inboxd::bench {

/// Creates `bench_application.applied`: an index, no unique key, so that a repeated row is seen.
void create_application_table(PostgresSession& session);
/// Throws if an event has no row, or several.
void check_application_table(PostgresSession& session, std::int64_t events);

/// Settings of the sql handler: `{statement: "…"}`.
std::string insert_settings();

/// The limit without a broker: ingest from memory, and the same inserts by `insert … select`, in steps of 500 stored
/// events. There are as many inserting connections as the handler has workers. No claims, no settling.
MeasuredRun run_insert_limit(const Options& options, const std::string& database_url, int workers);

/// The usual hand-written loop over a prefilled job table: each worker claims 100 jobs with SKIP LOCKED, inserts a row
/// for each, marks them done and commits.
MeasuredRun run_hand_written(const Options& options, const std::string& database_url, int workers);

}  // namespace inboxd::bench
