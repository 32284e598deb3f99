#pragma once
#include <string>

#include "options.hpp"
#include "run.hpp"
#include "session.hpp"

namespace inboxd::bench {

/// The application's table, with one index and no key, so that a row that comes twice is seen: `bench_book.booked`.
void create_book(Session& session);
/// Throws where an event has no row, or more than one.
void check_book(Session& session, std::int64_t events);

/// What the sql handler is configured with: `{statement: "…"}`.
std::string book_settings();

/// The limit without a broker: the ingest of inboxd from memory, and beside it the same inserts by one insert … select
/// over the inbox itself, in bites of 500 of what was just stored, on as many connections as the handler has workers.
/// Nothing is claimed and nothing settled.
Run run_book_limit(const Options& options, const std::string& database_url, int workers);

/// The loop that teams write: a table of jobs, which is there already (that they came costs nothing here); each worker
/// claims 100 with SKIP LOCKED, inserts a row for each, marks them done and commits.
Run run_hand_written(const Options& options, const std::string& database_url, int workers);

}  // namespace inboxd::bench
