#include "daemon_run.hpp"

#include <stdexcept>

namespace inboxd::bench {

void check_counts(PostgresSession& session, std::int64_t events, std::int64_t outcomes) {
  const auto stored = session.number("select count(*) from inbox.event");
  const auto settled = session.number(
      "select coalesce(sum(upper(r) - lower(r)), 0) from inbox.outcome, unnest(offsets) r where outcome = 'done'");
  if (stored == events && settled == outcomes) return;
  throw std::runtime_error{"counts are wrong: stored " + std::to_string(stored) + " of " + std::to_string(events) +
                           ", settled " + std::to_string(settled) + " of " + std::to_string(outcomes)};
}

void fresh_inbox(const Options& options, const DaemonSettings& settings, PostgresSession& control) {
  control.run("drop schema if exists inbox cascade");
  BenchDaemon::migrate(options, settings);
  control.run("checkpoint");
}

DaemonRun run_daemon_here(const Options& options, const DaemonSettings& settings, PostgresSession& control) {
  CostMeasurement measurement{control, options.kafka};
  BenchDaemon daemon{options, settings, true};
  daemon.wait();
  Cost cost = measurement.stop();
  cost.own_cpu = daemon.cpu_seconds();
  const auto events = control.number("select count(*) from inbox.event");
  const auto seconds_to = [&](const std::string& last) {
    return control.real("select extract(epoch from (" + last + ") - (select min(received_at) from inbox.event))");
  };
  DaemonRun out;
  out.stored = {events, seconds_to("select max(received_at) from inbox.event"), cost};
  out.settled = {events, seconds_to("select max(finished_at) from inbox.outcome"), cost};
  out.peak_memory = daemon.peak_memory();
  return out;
}

DaemonRun run_daemon(const Options& options, const DaemonSettings& settings, PostgresSession& control,
                     std::int64_t events) {
  fresh_inbox(options, settings, control);
  DaemonRun out = run_daemon_here(options, settings, control);
  check_counts(control, events, events * settings.handlers);
  return out;
}

}  // namespace inboxd::bench
