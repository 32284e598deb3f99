// A purge of as many old ids and events as are ingested meanwhile.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "in_process_inbox.hpp"
#include "maintenance/cleanup.hpp"
#include "maintenance/generations.hpp"
#include "postgres_session.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* topic = "bench";

/// As many ids past the retention as the run has events, and as many events past that of their topic.
void add_old_rows(PostgresSession& session, std::int64_t count) {
  session.run(
      "create table inbox.event_20200101 partition of inbox.event for values from ('2020-01-01 00:00:00+00') to "
      "('2020-01-02 00:00:00+00'); "
      "insert into inbox.shard (shard_id, topic, partition) values (2147483647, 'old', 0)");
  const std::string numbers = "generate_series(1, " + std::to_string(count) + ") i";
  session.run(
      "insert into inbox.ledger (event_id, shard_id, generation, \"offset\", digest, received_at) "
      "select gen_random_uuid(), 2147483647, generation, i, i, '2020-01-01' from inbox.routing, " +
      numbers);
  session.run(
      "insert into inbox.event (shard_id, \"offset\", event_id, event_type, payload, received_at) select 2147483647, "
      "i, gen_random_uuid(), 'Happened', decode(repeat('61', 256), 'hex'), '2020-01-01 12:00:00+00' from " +
      numbers);
  session.run("vacuum analyze inbox.ledger");
  session.run("vacuum analyze inbox.event_20200101");
  session.run("checkpoint");
}

/// The ids so far are a generation of the past, with its filter.
void freeze(inbox::Connection& connection, PostgresSession& session, inbox::LedgerFilters& filters) {
  session.run("update inbox.ledger_generation set began_at = '2020-01-01'");
  if (!inbox::freeze_generation(connection, 0, std::chrono::hours{1})) throw std::runtime_error{"purge: no freeze"};
  session.run("update inbox.ledger_generation set frozen_at = '2020-01-02' where frozen_at is not null");
  make_filters(connection, filters);
}

/// The daemon's own tasks, turn after turn, until nothing is left. Returns the seconds that they took.
double purge(inbox::Connection& connection, inbox::LedgerFilters& filters) {
  config::Settings settings;
  config::Topic old;
  old.name = "old";
  old.retention = std::chrono::hours{24};
  settings.topics = {old};
  base::Heartbeat heartbeat;
  base::StopSignal stop;
  base::Logger log{base::LogLevel::warn, base::LogFormat::text};
  maintenance::Turn turn{heartbeat, stop};
  maintenance::Cleanup cleanup{settings, connection, turn, log};
  maintenance::Generations generations{settings, filters, connection, turn, log};
  const auto began = Clock::now();
  bool has_more = true;
  while (has_more) {
    turn.begin(Clock::now() + std::chrono::seconds{1});
    generations.turn_over();
    has_more = turn.has_more();
    turn.begin(Clock::now() + std::chrono::seconds{1});
    cleanup.trim_events();
    has_more = has_more || turn.has_more();
  }
  return std::chrono::duration<double>(Clock::now() - began).count();
}

}  // namespace

void measure_purge(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    InProcessInbox local_inbox{options, database.url(), topic, options.handlers};
    PostgresSession session{database.url()};
    add_old_rows(session, options.events);
    inbox::LedgerFilters filters;
    freeze(*local_inbox.connect("maintenance"), session, filters);
    const MeasuredRun alone = local_inbox.ingest({.seed = 1, .filters = &filters});
    report.run("alone", alone);
    double seconds = 0;
    std::thread purging{
        [&, connection = local_inbox.connect("maintenance")] { seconds = purge(*connection, filters); }};
    const MeasuredRun beside = local_inbox.ingest({.seed = 2, .filters = &filters});
    purging.join();
    report.run("beside a purge", beside);
    // The ledger grows: a later run is slower by itself.
    const MeasuredRun after = local_inbox.ingest({.seed = 3, .filters = &filters});
    report.run("alone, after", after);
    report.note("the purge took " + fixed(seconds, 1) + " s, the ingest beside it " + fixed(beside.seconds, 1) + " s");
    const auto left = session.number("select count(*) from inbox.event where shard_id = 2147483647") +
                      session.number("select count(*) from inbox.ledger where shard_id = 2147483647");
    if (left != 0) throw std::runtime_error{"purge: " + std::to_string(left) + " rows are left"};
    ratios.push_back(2 * beside.rate() / (alone.rate() + after.rate()));
  }
  report.goal("ingest beside a purge, of that alone", fixed(median(ratios), 2), ">= 0.90", median(ratios) >= 0.9);
}

}  // namespace inboxd::bench
