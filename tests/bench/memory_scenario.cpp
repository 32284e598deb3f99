#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon_run.hpp"
#include "postgres_session.hpp"
#include "scenarios.hpp"
#include "support/private_postgres.hpp"
#include "topic.hpp"

namespace inboxd::bench {
namespace {

constexpr std::int64_t limit_bytes = 200 << 20;
constexpr double per_second = 20'000;
constexpr auto sampled_interval = std::chrono::milliseconds{100};
constexpr std::chrono::seconds outage{60};
constexpr std::chrono::seconds outage_in_smoke{2};

/// Samples the daemon's resident memory and returns the maximum.
std::int64_t max_within(const BenchDaemon& daemon, std::chrono::seconds time) {
  std::int64_t most = 0;
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    most = std::max(most, resident_memory(daemon.process()));
    std::this_thread::sleep_for(sampled_interval);
  }
  return most;
}

void wait_for_rows(BenchDaemon& daemon, const std::string& url, const std::string& count, std::int64_t wanted) {
  PostgresSession session{url};
  while (session.number(count) < wanted) {
    if (!daemon.is_running()) daemon.wait();  // throws with the end of the log
    std::this_thread::sleep_for(sampled_interval);
  }
}

}  // namespace

void measure_memory(const Options& options, Report& report) {
  support::PrivatePostgres postgres{{"shared_buffers=256MB", "max_wal_size=4GB"}};
  DaemonSettings settings;
  settings.database_url = postgres.url();
  Topic topic{options.kafka, options.partitions};
  settings.topic = topic.name();
  settings.handler_keys += ", lease: 5s";  // leases of the events in flight expire soon after the outage
  const Generator generator{1, options.payload};
  topic.preload(generator, 0, options.events);
  const auto time_down = options.smoke ? outage_in_smoke : outage;

  BenchDaemon::migrate(options, settings);
  BenchDaemon daemon{options, settings, false};
  // The daemon may exit if the database stops during its start; operators restart it.
  wait_for_rows(daemon, postgres.url(), "select count(*) from (select from inbox.event limit 1) e", 1);
  std::int64_t sent = 0;
  std::atomic<bool> stop{false};
  const std::int64_t max_sent = static_cast<std::int64_t>(per_second) * time_down.count();
  const Generator later{2, options.payload};
  std::thread producer{[&] { sent = topic.produce_steadily(later, per_second, max_sent, stop); }};
  const std::int64_t before = max_within(daemon, std::chrono::seconds{options.smoke ? 1 : 3});
  postgres.stop();
  const std::int64_t without = max_within(daemon, time_down);
  postgres.start();
  producer.join();
  wait_for_rows(daemon, postgres.url(), "select count(*) from inbox.event", options.events + sent);
  wait_for_rows(daemon, postgres.url(), "select 1 - least(count(*), 1) from inbox.delivery", 1);
  const std::int64_t ever = peak_memory(daemon.process());
  daemon.stop();
  PostgresSession control{postgres.url()};
  check_counts(control, options.events + sent, options.events + sent);
  report.note("resident memory at full load " + mebibytes(before) + ", while PostgreSQL was down " +
              mebibytes(without) + ", peak " + mebibytes(ever));
  report.goal("resident memory, PostgreSQL down for " + std::to_string(time_down.count()) + " s under load",
              mebibytes(ever), "< 200 MiB", ever < limit_bytes);
}

}  // namespace inboxd::bench
