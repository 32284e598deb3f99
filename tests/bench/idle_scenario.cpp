#include <algorithm>
#include <memory>
#include <optional>
#include <thread>

#include "kafka_bench.hpp"
#include "scenarios.hpp"
#include "scraper.hpp"
#include "support/test_environment.hpp"

namespace inboxd::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto settling = 5s;
constexpr auto idle_time = 20s;
constexpr int idle_topics = 20;
constexpr int partitions_each = 4;
constexpr int starts = 7;
constexpr double shown_share = 0.02;

void measure_start(const Options& options, const DaemonSettings& settings, int port, Report& report) {
  std::vector<double> took;
  BenchDaemon::migrate(options, settings);
  for (int i = 0; i < (options.smoke ? 1 : starts); ++i) {
    const auto began = Clock::now();
    BenchDaemon daemon{options, settings, false};
    wait_ready(port);
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    daemon.stop();
  }
  const double most = *std::max_element(took.begin(), took.end());
  report.goal("start to ready with a migrated database",
              fixed(median(took), 0) + " ms (at most " + fixed(most, 0) + ")", "< 300 ms", median(took) < 300);
}

/// Percent of a core over that time.
double share_of(const BenchDaemon& daemon, std::chrono::seconds time, Report* report) {
  const auto before = thread_cpu_seconds(daemon.process());
  const double all_before = cpu_seconds(daemon.process());
  const auto began = Clock::now();
  std::this_thread::sleep_for(time);
  const double elapsed = std::chrono::duration<double>(Clock::now() - began).count();
  const double share = (cpu_seconds(daemon.process()) - all_before) / elapsed * 100;
  if (report == nullptr) return share;
  std::string busy;
  for (const auto& [name, seconds] : thread_cpu_seconds(daemon.process())) {
    const auto earlier = before.find(name);
    const double part = (seconds - (earlier == before.end() ? 0 : earlier->second)) / elapsed * 100;
    if (part >= shown_share) busy += " " + name + " " + fixed(part, 2) + " %";
  }
  report->note("threads:" + busy);
  return share;
}

void measure_doing_nothing(const Options& options, const DaemonSettings& settings, int port, Report& report) {
  BenchDaemon daemon{options, settings, false};
  wait_ready(port);
  std::this_thread::sleep_for(options.smoke ? 1s : settling);
  const double share = share_of(daemon, options.smoke ? 1s : idle_time, &report);
  report.goal("idle with 20 topics, of a core", fixed(share, 2) + " %", "< 0.5 %", share < 0.5);
  std::optional<Scraper> scraper{port};
  const double scraped = share_of(daemon, options.smoke ? 1s : idle_time, nullptr);
  scraper.reset();
  report.note("scraped each second " + fixed(scraped, 2) + " %, resident " +
              mebibytes(resident_memory(daemon.process())));
  daemon.stop();
}

}  // namespace

void measure_idle(const Options& options, Report& report) {
  ScratchDatabase database{options.postgres};
  std::vector<std::unique_ptr<Topic>> topics;
  for (int i = 0; i < idle_topics; ++i) topics.push_back(std::make_unique<Topic>(options.kafka, partitions_each));
  const int port = support::free_port();
  DaemonSettings settings;
  settings.database_url = database.url();
  settings.topic = topics.front()->name();
  for (int i = 1; i < idle_topics; ++i) settings.more_topics.push_back(topics[static_cast<std::size_t>(i)]->name());
  settings.admin = admin_at(port);
  measure_start(options, settings, port, report);
  measure_doing_nothing(options, settings, port, report);
}

}  // namespace inboxd::bench
