// One, two and four daemons on a database.
#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "latency.hpp"
#include "order_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::array instance_counts{1, 2, 4};
constexpr std::array partition_counts{8, 64};
constexpr double max_cost = 1.15;
constexpr std::int64_t max_events = 300'000;
constexpr auto look_interval = 20ms;
constexpr std::size_t shown_waits = 4;

/// Looks at the daemons' sessions until it ends: how often one waited for something in the server.
class WaitSampler final {
 public:
  explicit WaitSampler(const std::string& url)
      : thread_{[this, url] {
          PostgresSession session{url};
          for (; !stopping_; std::this_thread::sleep_for(look_interval)) {
            ++looks_;
            for (const std::string& event : session.column(
                     "select wait_event_type || ':' || wait_event || coalesce((select ' ' || c.relname from pg_locks l "
                     "join pg_class c on c.oid = l.relation where l.pid = a.pid and not l.granted limit 1), '') "
                     "from pg_stat_activity a where application_name like 'inboxd%' and state = 'active' and "
                     "datname = current_database() and wait_event_type <> 'Client'")) {
              ++seen_[event];
            }
          }
        }} {}
  ~WaitSampler() { end(); }
  WaitSampler(const WaitSampler&) = delete;
  WaitSampler& operator=(const WaitSampler&) = delete;

  /// Sessions that waited at a look, on average, by their event.
  std::map<std::string, double> end() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
    std::map<std::string, double> out;
    for (const auto& [event, count] : seen_) out[event] = count / std::max(looks_, 1.0);
    return out;
  }

 private:
  std::atomic<bool> stopping_{false};
  double looks_ = 0;
  std::map<std::string, double> seen_;
  std::thread thread_;  // last: it uses the others
};

std::string text_of(const std::map<std::string, double>& waits) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [event, sessions] : waits) sorted.emplace_back(sessions, event);
  std::sort(sorted.rbegin(), sorted.rend());
  std::string out;
  for (std::size_t i = 0; i < std::min(sorted.size(), shown_waits); ++i) {
    out += (out.empty() ? "" : ", ") + sorted[i].second + " " + fixed(sorted[i].first, 2);
  }
  return out.empty() ? "none" : out;
}

struct InstancesRun {
  MeasuredRun run;
  std::map<std::string, double> waits;
  double cost() const { return (run.cost.own_cpu + run.cost.postgres_cpu) * 1e6 / static_cast<double>(run.events); }
};

/// A preloaded topic until all events are settled. Times come from the database.
InstancesRun run_instances(OrderBench& bench, const DaemonSettings& settings, int count) {
  fresh_inbox(bench.options, settings, bench.control);
  InstancesRun out;
  CostMeasurement measurement{bench.control, bench.options.kafka};
  WaitSampler sampler{bench.database.url()};
  std::vector<std::unique_ptr<BenchDaemon>> daemons;
  for (int i = 0; i < count; ++i) {
    daemons.push_back(std::make_unique<BenchDaemon>(bench.options, settings, true));
  }
  double own = 0;
  for (const auto& daemon : daemons) {
    daemon->wait();
    own += daemon->cpu_seconds();
  }
  out.run.cost = measurement.stop();
  out.waits = sampler.end();
  out.run.cost.own_cpu = own;
  out.run.events = bench.options.events;
  out.run.seconds = bench.control.real(
      "select extract(epoch from (select max(finished_at) from inbox.outcome) - (select min(received_at) from "
      "inbox.event))");
  check_counts(bench.control, bench.options.events, bench.options.events);
  return out;
}

DaemonSettings settings_of(const OrderBench& bench, const std::string& mode) {
  const bool is_batch = mode == "batch";
  return bench.settings(mode, is_batch ? "concurrency: 2, batch: {max_events: 500, every: 1s}"
                                       : "concurrency: 2, events_per_call: 500");
}

/// The event of which more sessions wait with more instances; the first lock that a further instance would meet.
std::string grown(const std::map<std::string, double>& alone, const std::map<std::string, double>& all) {
  std::string out = "none";
  double most = 0.05;  // sessions
  for (const auto& [event, sessions] : all) {
    const auto before = alone.find(event);
    const double more = sessions - (before == alone.end() ? 0 : before->second);
    if (more <= most) continue;
    most = more;
    out = event + " (+" + fixed(more, 2) + " sessions)";
  }
  return out;
}

void measure_mode(OrderBench& bench, const std::string& mode, Report& report) {
  const std::string where = mode + ", " + std::to_string(bench.options.partitions) + " partitions";
  const DaemonSettings settings = settings_of(bench, mode);
  std::map<int, std::vector<double>> costs;
  std::map<int, InstancesRun> last;
  for (int round = 0; round < bench.options.rounds; ++round) {
    for (const int count : instance_counts) {
      InstancesRun run = run_instances(bench, settings, count);
      report.run(std::to_string(count) + " x " + mode, run.run);
      costs[count].push_back(run.cost());
      last[count] = std::move(run);
    }
  }
  for (const int count : instance_counts) {
    if (count == 1) continue;
    const double ratio = median(costs[count]) / median(costs[1]);
    report.note(where + ": waits with " + std::to_string(count) + ": " + text_of(last[count].waits) + "; grown most: " +
                grown(last[1].waits, last[count].waits));
    report.goal(where + ", " + std::to_string(count) + " instances: CPU per event, of one", fixed(ratio, 2),
                "<= 1.15", ratio <= max_cost);
  }
}

/// Latency at 1,000 events a second, of the calls of the first instance.
void measure_latency_of(OrderBench& bench, const std::string& mode, Report& report) {
  for (const int count : instance_counts) {
    Topic topic{bench.options.kafka, bench.options.partitions};
    SteadyLoad load;
    load.time = bench.options.smoke ? 2s : 15s;
    load.warm_up = bench.options.smoke ? 0s : 5s;
    load.handler_keys = "mode: " + mode + ", concurrency: 8";
    load.others = count - 1;
    const SteadyRun run = run_steadily(bench.options, bench.database.url(), topic, load);
    report.note(mode + ", " + std::to_string(count) + " instances at 1,000/s: " + percentiles_text(run.latencies));
  }
}

}  // namespace

void measure_instances(const Options& asked, Report& report) {
  for (const int partitions : partition_counts) {
    if (asked.smoke && partitions != partition_counts.front()) continue;
    Options options = asked;
    options.partitions = partitions;
    options.events = std::min(options.events, max_events);
    OrderBench bench{options, {10'000, 0}};
    for (const std::string mode : {"single", "sequential", "batch"}) measure_mode(bench, mode, report);
    if (partitions != partition_counts.front()) continue;
    for (const std::string mode : {"single", "sequential"}) measure_latency_of(bench, mode, report);
  }
}

}  // namespace inboxd::bench
