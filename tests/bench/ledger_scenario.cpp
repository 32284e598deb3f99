// A ledger with many random ids: generations with filters, against an empty ledger and against a single generation.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "in_process_inbox.hpp"
#include "inbox/generations.hpp"
#include "postgres_session.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr const char* topic = "bench";
/// Of an index with random ids.
constexpr std::int64_t bytes_per_id = 40;

/// Ids of a shard that no event of the run has. The index is built as full as random inserts leave it.
void fill_current(PostgresSession& session, std::int64_t ids) {
  const std::string table = "inbox.ledger_g" + std::to_string(session.number("select generation from inbox.routing"));
  const auto constraint = "ledger_g" + std::to_string(session.number("select generation from inbox.routing")) + "_pkey";
  session.run("alter table " + table + " drop constraint " + constraint);
  session.run("insert into " + table +
              " (event_id, shard_id, generation, \"offset\", digest, received_at) select gen_random_uuid(), "
              "2147483647, (select generation from inbox.routing), i, i, now() from generate_series(1, " +
              std::to_string(ids) + ") i");
  session.run("alter table " + table + " add constraint " + constraint +
              " primary key (event_id) with (fillfactor = 70)");
  session.run("vacuum analyze " + table);
}

/// Fills and freezes generations; returns their number.
std::int64_t fill_generations(inbox::Connection& connection, PostgresSession& session, std::int64_t ids,
                              std::int64_t of_each) {
  std::int64_t generations = 0;
  for (std::int64_t done = 0; done < ids; done += of_each, ++generations) {
    fill_current(session, std::min(of_each, ids - done));
    session.run("update inbox.ledger_generation set began_at = now() - interval '1 year' where frozen_at is null");
    inbox::freeze_generation(connection, 0, std::chrono::hours{24});
  }
  return generations;
}

/// As many bits are set as in a filter that is full of ids: 23 of 64.
std::shared_ptr<inbox::IdFilter> random_filter(std::mt19937_64& random, std::int64_t key, std::int64_t ids) {
  std::string bits(inbox::IdFilter::bytes_for(ids), '\0');
  for (std::size_t i = 0; i < bits.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = random() | random() | random();
    word = (random() | (random() & word)) & random();
    std::memcpy(&bits[i], &word, sizeof word);
  }
  return std::make_shared<inbox::IdFilter>(key, std::string_view{bits});
}

/// Frozen generations without rows, with filters as if they had: a table of a billion ids takes 120 GB. What a filter
/// takes for known is looked up in an empty index.
void add_generations(inbox::Connection& connection, PostgresSession& session, inbox::LedgerFilters& filters,
                     std::int64_t ids, std::int64_t generations) {
  for (std::int64_t i = 0; i < generations; ++i) {
    fill_current(session, 1);
    session.run("update inbox.ledger_generation set began_at = now() - interval '1 year' where frozen_at is null");
    inbox::freeze_generation(connection, 0, std::chrono::hours{24});
  }
  std::mt19937_64 random{1};
  for (const auto& one : inbox::read_routing(connection).frozen) {
    filters.put(one.filter_key, random_filter(random, 1, ids / generations));
  }
}

std::string wal_text(const MeasuredRun& run) {
  return fixed(run.cost.wal_bytes / static_cast<double>(run.events), 0) + " B of WAL an event";
}

/// A billion ids, in the 128 generations that `freeze_generation` allows.
double ratio_of_a_billion(const Options& options, const std::string& database_url, Report& report) {
  constexpr std::int64_t ids = 1'000'000'000, generations = 128;
  PostgresSession session{database_url};
  InProcessInbox inbox{options, database_url, topic, options.handlers};
  const auto connection = inbox.connect("maintenance");
  const std::int64_t size = options.smoke ? ids / 10'000 : ids;
  const MeasuredRun empty = inbox.ingest({.seed = 1});
  report.run("an empty ledger", empty);
  inbox::LedgerFilters filters;
  add_generations(*connection, session, filters, size, generations);
  fill_current(session, size / generations / 2);
  const MeasuredRun run = inbox.ingest({.seed = 2, .filters = &filters});
  report.run("128 generations, synthetic", run);
  report.note(std::to_string(size) + " ids, filters " + mebibytes(static_cast<std::int64_t>(filters.bytes())) + "; " +
              wal_text(run));
  return run.rate() / empty.rate();
}

}  // namespace

void measure_ledger(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  PostgresSession session{database.url()};
  const std::int64_t quarter = session.number("select pg_size_bytes(current_setting('shared_buffers')) / 4");
  const std::int64_t of_each = options.smoke ? options.ids / 4 : quarter / bytes_per_id;
  std::vector<double> ratios, single_ratios;
  MeasuredRun filtered;
  for (int round = 0; round < options.rounds; ++round) {
    InProcessInbox inbox{options, database.url(), topic, options.handlers};
    const auto connection = inbox.connect("maintenance");
    const MeasuredRun empty = inbox.ingest({.seed = 1});
    report.run("an empty ledger", empty);
    const auto generations = fill_generations(*connection, session, options.ids, of_each);
    inbox::LedgerFilters filters;
    const double seconds = make_filters(*connection, filters);
    report.note(std::to_string(options.ids) + " ids in " + std::to_string(generations) + " generations; filters " +
                mebibytes(static_cast<std::int64_t>(filters.bytes())) + ", " +
                fixed(8.0 * static_cast<double>(filters.bytes()) / static_cast<double>(options.ids), 1) +
                " bits an id, made in " + fixed(seconds, 1) + " s");
    fill_current(session, of_each / 2);  // it is half full on average
    filtered = inbox.ingest({.seed = 2, .filters = &filters});
    report.run("generations with filters", filtered);
    report.note(wal_text(filtered) + ", with the empty ledger " + wal_text(empty));
    ratios.push_back(filtered.rate() / empty.rate());

    InProcessInbox single{options, database.url(), topic, options.handlers};
    const MeasuredRun before = single.ingest({.seed = 3});
    fill_current(session, options.ids);
    const MeasuredRun run = single.ingest({.seed = 4});
    report.run("a single generation", run);
    report.note(wal_text(run));
    single_ratios.push_back(run.rate() / before.rate());
  }
  const double billion = ratio_of_a_billion(options, database.url(), report);
  report.note("a single generation, of its empty ledger's rate: " + fixed(median(single_ratios), 2));
  report.goal("generations with filters, of the empty ledger's rate", fixed(median(ratios), 2), ">= 0.85",
              median(ratios) >= 0.85);
  report.goal("a billion ids, synthetic, of the empty ledger's rate", fixed(billion, 2), ">= 0.80", billion >= 0.8);
  const double wal = filtered.cost.wal_bytes / static_cast<double>(filtered.events);
  report.goal("WAL per stored event", fixed(wal, 0) + " B", "<= 1000 B", wal <= 1000);
}

}  // namespace inboxd::bench
