// The memory of the whole program with a shipped handler and default settings, as an operator sees it.
#include <thread>

#include "application_table.hpp"
#include "kafka_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr std::int64_t limit_bytes = 220 << 20;
constexpr auto look_interval = std::chrono::seconds{1};
/// Idle memory goes back to the system within this time.
constexpr std::chrono::seconds rest{15};
constexpr std::chrono::seconds rest_in_smoke{1};

/// Default settings of the daemon and the handler, where the bench has others.
DaemonSettings as_shipped(DaemonSettings settings) {
  settings.plugin = "sql";
  settings.handler_settings = insert_settings();
  settings.handler_keys = "mode: sequential";
  settings.connections = 32;
  return settings;
}

}  // namespace

void measure_resident(const Options& options, Report& report) {
  KafkaBench bench{options};
  const DaemonSettings settings = as_shipped(bench.settings());
  create_application_table(bench.control);
  fresh_inbox(options, settings, bench.control);
  BenchDaemon daemon{options, settings, false};
  while (bench.control.number("select count(*) from bench_application.applied") < options.events) {
    if (!daemon.is_running()) daemon.wait();  // throws with the end of the log
    std::this_thread::sleep_for(look_interval);
  }
  const std::int64_t at_end = resident_memory(daemon.process());
  const std::int64_t most = peak_memory(daemon.process());
  std::this_thread::sleep_for(options.smoke ? rest_in_smoke : rest);
  const std::int64_t idle = resident_memory(daemon.process());
  daemon.stop();
  check_counts(bench.control, options.events, options.events);
  check_application_table(bench.control, options.events);
  report.note("resident memory at the last event " + mebibytes(at_end) + ", idle " + mebibytes(idle));
  report.goal("resident memory, sql handler with default settings, peak", mebibytes(most), "< 220 MiB",
              most < limit_bytes);
}

}  // namespace inboxd::bench
