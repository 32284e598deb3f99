// The costs behind `inboxd capacity`: by size of the payload, distance of the database, time of a flush, and keys.
#include <algorithm>
#include <array>
#include <string>

#include "delay_proxy.hpp"
#include "kafka_bench.hpp"
#include "order_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

struct Size {
  std::size_t payload;
  std::int64_t events;
};
constexpr std::array sizes{Size{100, 200'000}, Size{1'000, 200'000}, Size{10'000, 40'000}, Size{100'000, 5'000}};
constexpr std::array key_counts{std::int64_t{1}, std::int64_t{1'000}, std::int64_t{100'000}, std::int64_t{10'000'000}};
constexpr std::int64_t max_events = 200'000;

std::string size_of(PostgresSession& control, const std::string& tables, std::int64_t events) {
  const double bytes = control.real("select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on "
                                    "n.oid = c.relnamespace where n.nspname = 'inbox' and c.relkind = 'r' and "
                                    "c.relname similar to '" + tables + "'");
  return fixed(bytes / static_cast<double>(events), 0) + " B";
}

/// The bodies of no-op calls are not read: these are the costs of storing, handing over and settling.
void measure_sizes(const Options& asked, Report& report) {
  for (const Size& size : sizes) {
    Options options = asked;
    options.payload = size.payload;
    options.events = asked.smoke ? std::min<std::int64_t>(size.events, 1'000) : std::min(asked.events, size.events);
    KafkaBench bench{options};
    const MeasuredRun run = bench.daemon(bench.settings()).settled;
    report.run(std::to_string(size.payload) + " B", run);
    report.note("disk per event: event " + size_of(bench.control, "event%", run.events) + ", ledger " +
                size_of(bench.control, "ledger%", run.events) + ", outcome " +
                size_of(bench.control, "outcome%", run.events) + ", the rest " +
                size_of(bench.control, "(position|delivery)", run.events));
  }
}

void measure_distances(const Options& options, Report& report) {
  KafkaBench bench{options};
  const int port = std::stoi(url_part(options.postgres, "port"));
  const double here = bench.daemon(bench.settings()).settled.rate();
  for (const int milliseconds : {1, 5}) {
    DelayProxy proxy{port, std::chrono::milliseconds{milliseconds}};
    DaemonSettings settings = bench.settings();
    settings.database_url = bench.database.url_at("127.0.0.1", proxy.port());
    const MeasuredRun run = bench.daemon(settings).settled;
    report.run("database " + std::to_string(milliseconds) + " ms away", run);
    report.note("of the rate at 0 ms: " + fixed(run.rate() / here, 2));
  }
  // The server waits this long before it flushes a commit's WAL: as a disk whose flush takes that long.
  const std::string name = bench.control.text("select current_database()");
  bench.control.run("alter database " + name + " set commit_delay = 5000");
  bench.control.run("alter database " + name + " set commit_siblings = 0");
  const MeasuredRun slow = bench.daemon(bench.settings()).settled;
  report.run("flush of 5 ms", slow);
  report.note("of the rate of this disk: " + fixed(slow.rate() / here, 2));
}

void measure_keys(const Options& options, Report& report) {
  for (const std::int64_t keys : key_counts) {
    if (options.smoke && keys > 1'000) continue;
    OrderBench bench{options, {keys, 0}};
    const MeasuredRun run = bench.run(bench.settings("sequential", "concurrency: 2, events_per_call: 500"));
    report.run(std::to_string(keys) + (keys == 1 ? " key" : " keys"), run);
  }
}

}  // namespace

void measure_capacity(const Options& asked, Report& report) {
  measure_sizes(asked, report);
  Options options = asked;
  options.events = std::min(asked.events, max_events);
  measure_distances(options, report);
  measure_keys(options, report);
}

}  // namespace inboxd::bench
