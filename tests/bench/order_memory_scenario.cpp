// Memory and rate of mode sequential with many blocked keys.
#include <algorithm>
#include <thread>

#include "order_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr std::int64_t max_memory = 250 << 20;
constexpr double min_ratio = 0.9;
constexpr std::int64_t some_blocked = 20'000;
constexpr std::size_t small_payload = 64;
constexpr auto poll_interval = std::chrono::milliseconds{200};
constexpr const char* late_retries = ", deadline: 1h, retry: {backoff: fixed, base: 24h, jitter: 0}";
constexpr const char* small_calls = "concurrency: 2, events_per_call: 500";
/// The number of events that are always in flight, however slow the calls are.
constexpr int calls_in_flight = 10;

constexpr const char* leased = "select coalesce(sum(events), 0) from inbox.delivery where owner is not null";
constexpr const char* blocked = "select count(*) from inbox.delivery where lane is not null";
const std::string done = "select coalesce(sum(inbox.count_of(offsets)), 0) from inbox.outcome";

void wait_for(BenchDaemon& daemon, PostgresSession& control, const std::string& sql, std::int64_t wanted) {
  while (control.number(sql) < wanted) {
    if (!daemon.is_running()) daemon.wait();  // throws with the end of the log
    std::this_thread::sleep_for(poll_interval);
  }
}

/// Resident memory with all events in memory, none of them done, waiting for as many blocked keys. Mode single has no
/// keys: the first events wait for their retries.
std::int64_t memory_of(const Options& options, const std::string& mode, std::int64_t keys) {
  OrderBench bench{options, {keys, 0, keys}};
  DaemonSettings settings = bench.settings(mode, std::string{small_calls} + late_retries);
  settings.dispatch = "{in_hand_events: " + std::to_string(options.events) + ", in_hand_bytes: 4GiB}";
  settings.handler_settings = "{failures: 1, holds_after: " + std::to_string(keys) + "}";
  fresh_inbox(options, settings, bench.control);
  Topic first{options.kafka, options.partitions};
  first.preload_once(Generator{2, options.payload}, keys);
  DaemonSettings of_first = settings;
  of_first.topic = first.name();
  {
    BenchDaemon daemon{options, of_first, false};
    wait_for(daemon, bench.control, mode == "sequential" ? blocked : "select count(*) from inbox.failure", keys);
  }
  settings.more_topics = {first.name()};
  settings.handler_settings = "{holds_after: 1}";
  settings.handler_keys = "mode: " + mode + ", concurrency: " + std::to_string(calls_in_flight) +
                          ", events_per_call: " + std::to_string(options.events / calls_in_flight) + late_retries;
  BenchDaemon daemon{options, settings, false};
  wait_for(daemon, bench.control, leased, options.events - options.events / 100);
  return resident_memory(daemon.process());
}

struct BesideLanes {
  double first_outcome = 0;  ///< seconds after the first event was stored: a new owner reads the blocked keys first
  MeasuredRun run;           ///< from the first outcome to the last
};

/// The rate of other keys after as many events that are blocked or, to compare, done.
BesideLanes run_after(const Options& options, bool is_blocked, Report& report) {
  OrderBench bench{options, {options.events, 0, options.events}};
  DaemonSettings settings = bench.settings("sequential", std::string{small_calls} + late_retries);
  fresh_inbox(options, settings, bench.control);
  Topic first{options.kafka, options.partitions};
  first.preload_once(Generator{2, small_payload}, options.events);
  {
    DaemonSettings of_first = settings;
    of_first.topic = first.name();
    if (is_blocked) of_first.handler_settings = "{failures: 1}";
    BenchDaemon daemon{options, of_first, false};
    wait_for(daemon, bench.control, is_blocked ? blocked : done, options.events);
    daemon.stop();
  }
  bench.control.run("vacuum analyze inbox.delivery");
  bench.control.run("checkpoint");

  const std::string began = " > '" + bench.control.text("select clock_timestamp()::text") + "'";
  settings.more_topics = {first.name()};
  CostMeasurement measurement{bench.control, options.kafka};
  BenchDaemon daemon{options, settings, false};
  wait_for(daemon, bench.control, done + (" where finished_at" + began), options.events);
  BesideLanes out{0, {options.events, 0, measurement.stop()}};
  out.run.cost.own_cpu = cpu_seconds(daemon.process());
  const std::string memory = mebibytes(resident_memory(daemon.process()));
  daemon.stop();
  const auto seconds = [&](const std::string& from, const std::string& to) {
    return bench.control.real("select extract(epoch from (" + to + ") - (" + from + "))");
  };
  const std::string outcome = "(finished_at) from inbox.outcome where finished_at" + began;
  out.run.seconds = seconds("select min" + outcome, "select max" + outcome);
  out.first_outcome =
      seconds("select min(received_at) from inbox.event where received_at" + began, "select min" + outcome);
  const std::string state = is_blocked ? " events blocked: " : " events done: ";
  report.run(is_blocked ? "blocked keys" : "no blocked key", out.run);
  report.note(std::to_string(options.events) + state + "first outcome after " + fixed(out.first_outcome, 2) +
              " s, resident memory " + memory);
  return out;
}

}  // namespace

void measure_order_memory(const Options& options, Report& report) {
  Options small = options;
  small.payload = small_payload;
  const std::int64_t keys = std::min(some_blocked, options.events / 2);
  const std::int64_t single = memory_of(small, "single", keys);
  report.note("mode single, all events in memory: " + mebibytes(single));
  const std::int64_t ordered = memory_of(small, "sequential", keys);
  report.goal(std::to_string(keys) + " blocked keys, " + std::to_string(options.events) + " events of " +
                  std::to_string(small_payload) + " B in memory",
              mebibytes(ordered), "< 250 MiB", ordered < max_memory);

  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const BesideLanes without = run_after(options, false, report);
    const BesideLanes with = run_after(options, true, report);
    ratios.push_back(with.run.rate() / without.run.rate());
  }
  const double ratio = median(ratios);
  report.goal(std::to_string(options.events) + " blocked keys: rate of other keys, of that without", fixed(ratio, 2),
              ">= 0.90", ratio >= min_ratio);
}

}  // namespace inboxd::bench
