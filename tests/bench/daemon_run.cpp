#include "daemon_run.hpp"

#include <stdexcept>

namespace inboxd::bench {

void check_counts(Session& session, std::int64_t events, std::int64_t outcomes) {
  const auto stored = session.number("select count(*) from inbox.event");
  const auto settled = session.number(
      "select coalesce(sum(upper(r) - lower(r)), 0) from inbox.outcome, unnest(offsets) r where outcome = 'done'");
  if (stored == events && settled == outcomes) return;
  throw std::runtime_error{"counts are wrong: stored " + std::to_string(stored) + " of " + std::to_string(events) +
                           ", settled " + std::to_string(settled) + " of " + std::to_string(outcomes)};
}

DaemonRun run_daemon(const Options& options, const DaemonSettings& settings, std::int64_t events) {
  Session control{settings.database_url};
  control.run("drop schema if exists inbox cascade");
  Daemon::migrate(options, settings);
  control.run("checkpoint");
  Meter meter{control, options.kafka};
  Daemon daemon{options, settings, true};
  daemon.wait();
  Cost cost = meter.stop();
  cost.own_cpu = daemon.cpu_seconds();
  check_counts(control, events, events * settings.handlers);
  DaemonRun out;
  const auto began = "(select min(received_at) from inbox.event)";
  out.stored = {events, control.real(std::string{"select extract(epoch from max(received_at) - "} + began +
                                     ") from inbox.event"), cost};
  out.settled = {events, control.real(std::string{"select extract(epoch from max(finished_at) - "} + began +
                                      ") from inbox.outcome"), cost};
  out.peak_memory = daemon.peak_memory();
  return out;
}

}  // namespace inboxd::bench
