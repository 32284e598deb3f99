// `handlers backfill`: its rate to a no-op handler, and the latency of live events meanwhile.
#include <chrono>
#include <stdexcept>
#include <thread>

#include "bench_daemon.hpp"
#include "daemon_run.hpp"
#include "in_process_inbox.hpp"
#include "latency.hpp"
#include "operations/backfill_queries.hpp"
#include "postgres_session.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* stored_topic = "inboxd-bench-stored";
constexpr auto patience = std::chrono::minutes{10};
constexpr std::chrono::seconds usual_time{20};
constexpr std::chrono::seconds smoke_time{2};
constexpr int old_shard = 2147483647;

/// As `handlers backfill noop_1`.
void request(const std::string& database_url) {
  config::Database settings;
  settings.url = database_url;
  base::Logger log{base::LogLevel::warn, base::LogFormat::text};
  inbox::Watchdog watchdog;
  inbox::Connection connection{settings, "bench", watchdog, log};
  const auto handler = operations::find_backfill(connection, "noop_1", std::chrono::seconds{60});
  if (!handler) throw std::runtime_error{"backfill: the daemon has not registered its handler"};
  operations::BackfillRequest request;
  request.handler_id = handler->handler_id;
  if (!operations::request_backfill(connection, request, "bench", "")) {
    throw std::runtime_error{"backfill: the request was refused"};
  }
}

void wait_for(PostgresSession& session, const std::string& condition) {
  const auto deadline = Clock::now() + patience;
  while (session.number("select (" + condition + ")::int") == 0) {
    if (Clock::now() > deadline) throw std::runtime_error{"backfill: timed out waiting for " + condition};
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
  }
}

/// Events that no handler has got, stored as by the daemon: in batches on several partitions.
MeasuredRun feed_stored(const Options& options, const ScratchDatabase& database, const DaemonSettings& settings) {
  PostgresSession session{database.url()};
  InProcessInbox local_inbox{options, database.url(), stored_topic, 0};
  local_inbox.ingest({.seed = 1});
  session.run("vacuum analyze inbox.event");
  session.run("checkpoint");
  BenchDaemon daemon{options, settings, false};
  wait_for(session, "exists (select from inbox.handler)");
  wait_for(session, "exists (select from inbox.instance where cardinality(handlers) > 0)");
  CostMeasurement measurement{session, options.kafka};
  const double own_before = cpu_seconds(daemon.process());
  request(database.url());
  wait_for(session, "exists (select from inbox.backfill_request where ended_at is not null)");
  wait_for(session, "not exists (select from inbox.delivery)");
  MeasuredRun out;
  out.events = options.events;
  out.cost = measurement.stop();
  out.cost.own_cpu = cpu_seconds(daemon.process()) - own_before;
  out.seconds = session.real(
      "select extract(epoch from (select max(finished_at) from inbox.outcome) - requested_at) "
      "from inbox.backfill_request");
  daemon.stop();
  check_counts(session, out.events, out.events);
  return out;
}

/// Events of another topic, which outlast the measurement.
void store_history(PostgresSession& session, std::int64_t count) {
  const std::string shard = std::to_string(old_shard);
  session.run("select inbox.make_partitions(1)");
  session.run("insert into inbox.shard (shard_id, topic, partition) values (" + shard + ", 'old', 0)");
  session.run("insert into inbox.event (shard_id, \"offset\", event_id, event_type, payload, received_at) select " +
              shard +
              ", i, gen_random_uuid(), 'Happened', decode(repeat('61', 256), 'hex'), clock_timestamp() "
              "from generate_series(1, " +
              std::to_string(count) + ") i");
  session.run("vacuum analyze inbox.event");
}

}  // namespace

void measure_backfill(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  const Topic topic{options.kafka, options.partitions};
  DaemonSettings settings;
  settings.database_url = database.url();
  settings.topic = topic.name();
  std::vector<double> rates;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun run = feed_stored(options, database, settings);
    report.run("back-fill", run);
    rates.push_back(run.rate());
  }
  report.goal("back-fill from the request to the last outcome", rate_text(median(rates)), ">= 100k/s",
              median(rates) >= 100'000);

  const std::int64_t history = options.smoke ? options.events : 2 * options.events;
  SteadyLoad load{.time = options.smoke ? smoke_time : usual_time};
  load.stored_before = history;
  load.begun = [&](PostgresSession&) { request(database.url()); };
  Topic live{options.kafka, options.partitions};
  const SteadyRun beside =
      run_steadily(options, database.url(), live, load, [&](PostgresSession& s) { store_history(s, history); });
  PostgresSession session{database.url()};
  const double seconds = session.real("select extract(epoch from ended_at - requested_at) from inbox.backfill_request");
  report.run("live events beside a back-fill", beside.run);
  report.note(percentiles_text(beside.latencies) + "; the back-fill ran at " +
              rate_text(static_cast<double>(history) / seconds) + " for " + fixed(seconds, 1) + " s");
  const double p99 = percentile_ms(beside.latencies, 0.99);
  report.goal("latency p99 at 1,000/s beside a back-fill", fixed(p99, 2) + " ms", "< 20 ms", p99 < 20);
}

}  // namespace inboxd::bench
