// Many handlers: ten on a topic, and two hundred that have nothing to do.
#include <string>
#include <thread>

#include "kafka_bench.hpp"
#include "scenarios.hpp"
#include "scraper.hpp"
#include "support/test_environment.hpp"

namespace inboxd::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int many = 10;
constexpr double max_cost = 1.6;
constexpr int idle_handlers = 200;
constexpr double max_idle_share = 1.0;
constexpr auto settling = 8s;
constexpr auto idle_time = 20s;
constexpr std::int64_t max_events = 400'000;

double cpu_of(const MeasuredRun& run) {
  return (run.cost.own_cpu + run.cost.postgres_cpu) * 1e6 / static_cast<double>(run.events);
}

/// Percent of a core, of the daemon and of PostgreSQL, and statements a second.
struct IdleShare {
  double daemon = 0, postgres = 0, commits = 0;
};

IdleShare idle_share(const Options& options, const DaemonSettings& settings, int port, PostgresSession& control,
                     Report& report) {
  control.run("drop schema if exists inbox cascade");
  BenchDaemon daemon{options, settings, false};
  wait_ready(port);
  std::this_thread::sleep_for(options.smoke ? 1s : settling);
  const std::string commits =
      "select pg_stat_get_db_xact_commit(oid) from pg_database where datname = current_database()";
  const auto began = Clock::now();
  const auto threads = thread_cpu_seconds(daemon.process());
  const double own = cpu_seconds(daemon.process());
  const double before = control.real(commits);
  CostMeasurement measurement{control, options.kafka};
  std::this_thread::sleep_for(options.smoke ? 1s : idle_time);
  const Cost cost = measurement.stop();
  const double elapsed = std::chrono::duration<double>(Clock::now() - began).count();
  IdleShare out;
  out.daemon = (cpu_seconds(daemon.process()) - own) / elapsed * 100;
  out.postgres = cost.postgres_cpu / cost.seconds * 100;
  out.commits = (control.real(commits) - before) / elapsed;
  std::string busy;
  for (const auto& [name, seconds] : thread_cpu_seconds(daemon.process())) {
    const auto earlier = threads.find(name);
    const double part = (seconds - (earlier == threads.end() ? 0 : earlier->second)) / elapsed * 100;
    if (part >= 0.02) busy += " " + name + " " + fixed(part, 2) + " %";
  }
  report.note("threads:" + busy + "; resident " + mebibytes(resident_memory(daemon.process())));
  daemon.stop();
  return out;
}

}  // namespace

void measure_handlers_10(const Options& asked, Report& report) {
  Options options = asked;
  options.events = std::min(options.events, max_events);
  KafkaBench bench{options};
  std::vector<double> ratios, rates;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun one = bench.daemon(bench.settings(1)).settled;
    report.run("one handler", one);
    const MeasuredRun ten = bench.daemon(bench.settings(many)).settled;
    report.run("ten handlers", ten);
    ratios.push_back(cpu_of(ten) / cpu_of(one));
    rates.push_back(ten.rate() / one.rate());
  }
  report.note("rate with ten handlers, of the rate with one: " + fixed(median(rates), 2));
  report.goal("CPU of daemon and PostgreSQL per event, ten no-op handlers, of one", fixed(median(ratios), 2) + " times",
              "<= 1.6 times", median(ratios) <= max_cost);
}

void measure_idle_200(const Options& options, Report& report) {
  ScratchDatabase database{options.postgres};
  PostgresSession control{database.url()};
  const Topic topic{options.kafka, options.partitions};
  const int port = support::free_port();
  DaemonSettings settings;
  settings.database_url = database.url();
  settings.topic = topic.name();
  settings.admin = admin_at(port);
  for (const std::string mode : {"single", "sequential"}) {
    settings.handlers = 1;
    settings.handler_keys = "mode: " + mode + ", concurrency: 1";
    const IdleShare one = idle_share(options, settings, port, control, report);
    settings.handlers = options.smoke ? 20 : idle_handlers;
    const IdleShare all = idle_share(options, settings, port, control, report);
    report.note(mode + ": PostgreSQL " + fixed(all.postgres, 2) + " % of a core, " + fixed(all.commits, 0) +
                " transactions a second; a single handler: daemon " + fixed(one.daemon, 2) + " %, PostgreSQL " +
                fixed(one.postgres, 2) + " %, " + fixed(one.commits, 0));
    report.goal("idle with 200 handlers in mode " + mode + ", daemon, of a core", fixed(all.daemon, 2) + " %", "<= 1 %",
                all.daemon <= max_idle_share);
  }
}

}  // namespace inboxd::bench
