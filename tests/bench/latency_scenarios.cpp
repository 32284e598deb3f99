#include <array>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "daemon_run.hpp"
#include "latency.hpp"
#include "postgres_session.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr std::chrono::seconds usual_time{20};
/// A broker creates a partition's log at its first record: with 200 partitions it stalls for some of the first seconds,
/// in slow hours for many.
constexpr std::chrono::seconds many_time{60};
constexpr std::chrono::seconds many_warm_up{30};
constexpr std::chrono::seconds smoke_time{2};
constexpr int many_partitions = 200;
constexpr int some_partitions = 20;
constexpr int days_in_place = 30;
/// Events per second over all 200 partitions: one per partition, and ten.
constexpr std::array rates_per_second{200.0, 2000.0};
/// Allowed ratio to the baseline's latency, if the baseline misses a goal in milliseconds.
constexpr double max_of_baseline = 1.5;

std::chrono::seconds time_of(const Options& options) { return options.smoke ? smoke_time : usual_time; }

double cpu_us(const MeasuredRun& run, double Cost::*part) {
  return run.cost.*part * 1e6 / static_cast<double>(run.events);
}

/// Creates 30 day partitions, as after a month.
void make_days(PostgresSession& session) {
  session.run("select inbox.make_partitions(" + std::to_string(days_in_place) + ")");
}

struct PartitionsResult {
  SteadyRun daemon;
  Latencies broker;
};

/// Keeps the topics: deleting 200 partitions stalls the broker for seconds.
PartitionsResult measure_partition_count(const Options& options, const ScratchDatabase& database, int partitions,
                                         double per_second, std::list<Topic>& topics, Report& report) {
  const SteadyLoad load{
      .per_second = per_second, .time = options.smoke ? smoke_time : many_time, .warm_up = many_warm_up};
  Topic& alone = topics.emplace_back(options.kafka, partitions);
  PartitionsResult out;
  out.broker = consume_steadily(options, alone, load);
  report.note("broker's share: " + percentiles_text(out.broker));
  Topic& topic = topics.emplace_back(options.kafka, partitions);
  out.daemon = run_steadily(options, database.url(), topic, load, make_days);
  report.run(std::to_string(partitions) + " partitions", out.daemon.run);
  report.note(percentiles_text(out.daemon.latencies));
  return out;
}

void compare_partition_counts(const Options& options, const ScratchDatabase& database, double per_second,
                              std::list<Topic>& topics, Report& report) {
  const PartitionsResult few =
      measure_partition_count(options, database, options.partitions, per_second, topics, report);
  const int count = options.smoke ? some_partitions : many_partitions;
  const PartitionsResult many = measure_partition_count(options, database, count, per_second, topics, report);
  const auto compare = [&](const std::string& what, double with_many, double with_few) {
    const double times = with_few > 0 ? with_many / with_few : 1;
    report.goal(std::to_string(count) + " partitions, 30 days, " + rate_text(per_second) + ": " + what,
                fixed(times, 2) + " times", "<= 2 times", times <= 2);
  };
  // The broker's responses name all partitions, and it collects garbage for them: report its own share apart.
  for (const auto& [name, part] : {std::pair{"latency p50", 0.5}, std::pair{"latency p99", 0.99}}) {
    const double with_many = percentile_ms(many.daemon.latencies, part);
    const double with_few = percentile_ms(few.daemon.latencies, part);
    const double broker_many = percentile_ms(many.broker, part), broker_few = percentile_ms(few.broker, part);
    compare(name, with_many, with_few);
    compare(std::string{name} + ", each of the broker's own", with_many / broker_many, with_few / broker_few);
  }
  compare("CPU of PostgreSQL", cpu_us(many.daemon.run, &Cost::postgres_cpu),
          cpu_us(few.daemon.run, &Cost::postgres_cpu));
  compare("CPU of the daemon", cpu_us(many.daemon.run, &Cost::own_cpu), cpu_us(few.daemon.run, &Cost::own_cpu));
}

/// A percentile of the daemon's and the baseline's latencies in milliseconds, a value per round.
struct Percentile {
  double part = 0;
  std::vector<double> daemon = {}, baseline = {}, ratio = {};

  void add(const Latencies& of_daemon, const Latencies& of_baseline) {
    daemon.push_back(percentile_ms(of_daemon, part));
    baseline.push_back(percentile_ms(of_baseline, part));
    ratio.push_back(daemon.back() / baseline.back());
  }
};

void goal_of_latency(Report& report, const std::string& what, const Percentile& rounds, double goal_ms) {
  const double here = median(rounds.daemon), ratio = median(rounds.ratio);
  report.goal(what, fixed(here, 2) + " ms", "< " + fixed(goal_ms, 0) + " ms", here < goal_ms);
  report.goal(what + ", of the baseline's " + fixed(median(rounds.baseline), 2) + " ms", fixed(ratio, 2) + " times",
              "<= " + fixed(max_of_baseline, 1) + " times", ratio <= max_of_baseline);
}

void measure_latency_at(const Options& options, double rate, Report& report) {
  const ScratchDatabase database{options.postgres};
  const SteadyLoad load{.per_second = rate, .time = time_of(options)};
  const std::string at = " at " + rate_text(rate);
  const auto fresh_topic = [&] { return std::make_unique<Topic>(options.kafka, options.partitions); };
  Percentile p50{0.5}, p99{0.99};
  for (int round = 0; round < options.rounds; ++round) {
    report.note("broker's share" + at + ": " + percentiles_text(consume_steadily(options, *fresh_topic(), load)));
    const Latencies handed_over = store_steadily(options, database.url(), *fresh_topic(), load);
    report.note("to the baseline's hand-over" + at + ": " + percentiles_text(handed_over));
    const SteadyRun run = run_steadily(options, database.url(), *fresh_topic(), load);
    report.run("inboxd", run.run);
    report.note("to the handler's call" + at + ": " + percentiles_text(run.latencies));
    p50.add(run.latencies, handed_over);
    p99.add(run.latencies, handed_over);
  }
  goal_of_latency(report, "latency p50" + at, p50, 3);
  goal_of_latency(report, "latency p99" + at, p99, 10);
}

}  // namespace

void measure_latency(const Options& options, Report& report) {
  for (const double rate : std::array{1000.0, 10'000.0}) measure_latency_at(options, rate, report);
}

void measure_partitions(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  std::list<Topic> topics;
  for (const double per_second : rates_per_second)
    compare_partition_counts(options, database, per_second, topics, report);
}

}  // namespace inboxd::bench
