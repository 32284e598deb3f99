#include "latency.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "baseline_steady.hpp"
#include "daemon_run.hpp"
#include "report.hpp"

namespace inboxd::bench {
namespace {

namespace files = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto poll_interval = std::chrono::milliseconds{100};
constexpr auto patience = std::chrono::seconds{60};

void wait_until(const std::function<bool()>& condition, const std::string& what) {
  const auto deadline = Clock::now() + patience;
  while (!condition()) {
    if (Clock::now() > deadline) throw std::runtime_error{"timed out waiting for: " + what};
    std::this_thread::sleep_for(poll_interval);
  }
}

/// A file name unique to this process, for the plugin's results.
files::path result_file() {
  static int number = 0;
  return files::temp_directory_path() /
         ("inboxd-bench-" + std::to_string(getpid()) + "-" + std::to_string(++number) + ".us");
}

Latencies read_latencies(const files::path& file) {
  std::ifstream in{file, std::ios::binary};
  Latencies out(files::exists(file) ? files::file_size(file) / sizeof(std::uint32_t) : 0);
  in.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(std::uint32_t)));
  files::remove(file);
  return out;
}

/// Without the first seconds.
Latencies warmed_up(Latencies all, const SteadyLoad& load) {
  const double seconds =
      std::min(static_cast<double>(load.warm_up.count()), static_cast<double>(load.time.count()) / 2);
  const auto skipped = std::min(all.size(), static_cast<std::size_t>(load.per_second * seconds));
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(skipped));
  return all;
}

std::int64_t events_of(const SteadyLoad& load) {
  return static_cast<std::int64_t>(load.per_second * static_cast<double>(load.time.count()));
}

/// Produces while `consume` runs in its own thread. `consume` gets the total number of records, and a flag that stops
/// it.
Latencies consume_while_producing(
    const Options& options, Topic& topic, const SteadyLoad& load,
    const std::function<Latencies(std::int64_t events, const std::atomic<bool>& stop)>& consume) {
  const Generator generator{1, options.payload};
  const std::int64_t events = events_of(load);
  std::atomic<bool> stop{false};
  topic.preload(generator, events, topic.partitions());
  auto seen = std::async(std::launch::async, [&] { return consume(events + topic.partitions(), stop); });
  struct Stopping {
    std::atomic<bool>& stop;
    ~Stopping() { stop = true; }
  } const stopping{stop};
  topic.produce_steadily(generator, load.per_second, events, stop);
  if (seen.wait_for(patience) != std::future_status::ready) stop = true;
  Latencies out = seen.get();
  if (std::ssize(out) != events) throw std::runtime_error{"timed out: not all produced records have arrived"};
  return warmed_up(std::move(out), load);
}

}  // namespace

double percentile_ms(const Latencies& all, double part, double from, double to) {
  const auto at = [&](double share) { return static_cast<std::ptrdiff_t>(share * static_cast<double>(all.size())); };
  Latencies stretch(all.begin() + at(from), all.begin() + at(to));
  if (stretch.empty()) return 0;
  const auto middle = stretch.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(stretch.size() - 1));
  std::nth_element(stretch.begin(), middle, stretch.end());
  return static_cast<double>(*middle) / 1000;
}

std::string percentiles_text(const Latencies& all, double from, double to) {
  return "p50 " + fixed(percentile_ms(all, 0.5, from, to), 2) + " ms, p99 " +
         fixed(percentile_ms(all, 0.99, from, to), 2) + " ms, p99.9 " +
         fixed(percentile_ms(all, 0.999, from, to), 2) + " ms";
}

SteadyRun run_steadily(const Options& options, const std::string& database_url, Topic& topic, const SteadyLoad& load,
                       const std::function<void(PostgresSession&)>& prepare) {
  PostgresSession control{database_url};
  const auto file = result_file();
  DaemonSettings settings;
  settings.database_url = database_url;
  settings.topic = topic.name();
  settings.handler_keys = load.handler_keys;
  settings.handler_settings =
      load.plugin.empty()
          ? "{file: " + file.string() + (load.more_settings.empty() ? "" : ", " + load.more_settings) + "}"
          : load.more_settings;
  settings.plugin = load.plugin;
  control.run("drop schema if exists inbox cascade");
  BenchDaemon::migrate(options, settings);
  if (prepare) prepare(control);
  control.run("checkpoint");

  SteadyRun out;
  // A record per partition first: the broker creates a partition's log at its first record, which takes seconds.
  topic.preload(Generator{1, options.payload}, events_of(load), topic.partitions());
  BenchDaemon daemon{options, settings, false};
  std::vector<std::unique_ptr<BenchDaemon>> others;
  settings.handler_settings = "{}";
  for (int i = 0; i < load.others; ++i) others.push_back(std::make_unique<BenchDaemon>(options, settings, false));
  wait_until([&] { return control.number("select count(*) from inbox.position") >= topic.partitions(); }, "positions");
  const std::int64_t before = load.stored_before + topic.partitions();
  wait_until([&] { return control.number("select count(*) from inbox.event") >= before; }, "the first stored");
  wait_until([&] { return control.number("select count(*) from inbox.delivery") == 0; }, "the first settled");
  const double own_before = cpu_seconds(daemon.process());
  CostMeasurement measurement{control, options.kafka};
  const std::atomic<bool> stop{false};
  if (load.begun) load.begun(control);
  const std::int64_t events =
      topic.produce_steadily(Generator{1, options.payload}, load.per_second, events_of(load), stop);
  out.run.events = events;
  out.run.seconds = static_cast<double>(load.time.count());
  out.run.cost = measurement.stop();
  out.run.cost.own_cpu = cpu_seconds(daemon.process()) - own_before;
  wait_until([&] { return control.number("select count(*) from inbox.event") >= before + events; }, "all stored");
  wait_until([&] { return control.number("select count(*) from inbox.backfill_range") == 0; }, "all back-filled");
  wait_until([&] { return control.number("select count(*) from inbox.delivery") == 0; }, "all settled");
  daemon.stop();
  for (const auto& other : others) other->stop();
  check_counts(control, before + events, before + events);
  out.latencies = warmed_up(load.read_latencies ? load.read_latencies() : read_latencies(file), load);
  return out;
}

Latencies consume_steadily(const Options& options, Topic& topic, const SteadyLoad& load) {
  return consume_while_producing(options, topic, load, [&](std::int64_t events, const std::atomic<bool>& stop) {
    Latencies out;
    std::int64_t seen = 0;
    consume_plainly(
        options.kafka, topic.name(), topic.partitions(),
        [&](std::string_view payload) {
          if (const auto took = microseconds_since_sending(payload)) out.push_back(*took);
          return ++seen < events;
        },
        [&] { return !stop; });
    return out;
  });
}

Latencies store_steadily(const Options& options, const std::string& database_url, Topic& topic,
                         const SteadyLoad& load) {
  return consume_while_producing(options, topic, load, [&](std::int64_t events, const std::atomic<bool>& stop) {
    return run_baseline_steadily(options, database_url, topic.name(), events, stop);
  });
}

}  // namespace inboxd::bench
