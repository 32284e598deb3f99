// The daemon's memory while it cannot store what comes: PostgreSQL away under load.
#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon_run.hpp"
#include "scenarios.hpp"
#include "session.hpp"
#include "support/private_postgres.hpp"
#include "topic.hpp"

namespace inboxd::bench {
namespace {

constexpr std::int64_t limit_bytes = 200 << 20;
constexpr double per_second = 20'000;
constexpr auto sampled_every = std::chrono::milliseconds{100};
constexpr std::chrono::seconds away{60};
constexpr std::chrono::seconds away_in_smoke{2};

/// Samples the daemon's resident memory for a while; the most that was seen.
std::int64_t most_within(const Daemon& daemon, std::chrono::seconds time) {
  std::int64_t most = 0;
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    most = std::max(most, resident_memory(daemon.process()));
    std::this_thread::sleep_for(sampled_every);
  }
  return most;
}

void wait_for_rows(Daemon& daemon, const std::string& url, const std::string& count, std::int64_t wanted) {
  Session session{url};
  while (session.number(count) < wanted) {
    if (!daemon.is_running()) daemon.wait();  // throws, with the end of its log
    std::this_thread::sleep_for(sampled_every);
  }
}

}  // namespace

void measure_memory(const Options& options, Report& report) {
  support::PrivatePostgres postgres{{"shared_buffers=256MB", "max_wal_size=4GB"}};
  DaemonSettings settings;
  settings.database_url = postgres.url();
  Topic topic{options.kafka, options.partitions};
  settings.topic = topic.name();
  settings.handler_keys += ", lease: 5s";  // what was in hand when PostgreSQL went is free again after that
  const Generator generator{1, options.payload};
  topic.preload(generator, 0, options.events);
  const auto time_away = options.smoke ? away_in_smoke : away;

  Daemon::migrate(options, settings);
  Daemon daemon{options, settings, false};
  // A start that the database leaves in its middle ends; whoever runs the daemon starts it again.
  wait_for_rows(daemon, postgres.url(), "select count(*) from (select from inbox.event limit 1) e", 1);
  std::int64_t sent = 0;
  std::atomic<bool> stop{false};
  const std::int64_t most_sent = static_cast<std::int64_t>(per_second) * time_away.count();
  const Generator later{2, options.payload};
  std::thread producer{[&] { sent = topic.trickle(later, per_second, most_sent, stop); }};
  const std::int64_t before = most_within(daemon, std::chrono::seconds{options.smoke ? 1 : 3});
  postgres.stop();
  const std::int64_t without = most_within(daemon, time_away);
  postgres.start();
  producer.join();
  wait_for_rows(daemon, postgres.url(), "select count(*) from inbox.event", options.events + sent);
  wait_for_rows(daemon, postgres.url(), "select 1 - least(count(*), 1) from inbox.delivery", 1);
  const std::int64_t ever = peak_memory(daemon.process());
  daemon.stop();
  Session control{postgres.url()};
  check_counts(control, options.events + sent, options.events + sent);
  report.note("resident at full load " + mebibytes(before) + ", while PostgreSQL was away " + mebibytes(without) +
              ", the most ever " + mebibytes(ever));
  report.goal("resident memory, PostgreSQL away for " + std::to_string(time_away.count()) + " s under load",
              mebibytes(ever), "< 200 MiB", ever < limit_bytes);
}

}  // namespace inboxd::bench
