#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "kafka_bench.hpp"
#include "scenarios.hpp"
#include "scraper.hpp"
#include "support/test_environment.hpp"

namespace inboxd::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int scrapes = 25;
constexpr auto poll_interval = 100ms;
constexpr auto within = 300s;
constexpr double max_ms = 20;

/// Milliseconds of each scrape.
std::vector<double> scrape_times(int port, int times) {
  std::vector<double> took;
  for (int i = 0; i < times; ++i) {
    const auto began = Clock::now();
    if (status_of(port, "/metrics") != 200) throw std::runtime_error{"no metrics"};
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    std::this_thread::sleep_for(poll_interval);
  }
  return took;
}

std::string text_of(const std::vector<double>& took) {
  return fixed(median(took), 1) + " ms (at most " + fixed(*std::max_element(took.begin(), took.end()), 1) + ")";
}

void wait_settled(PostgresSession& control, std::int64_t events) {
  for (const auto began = Clock::now(); control.number("select count(*) from inbox.event") < events ||
                                        control.number("select count(*) from inbox.delivery") > 0;
       std::this_thread::sleep_for(poll_interval)) {
    if (Clock::now() - began > within) throw std::runtime_error{"timed out: events are still pending"};
  }
}

}  // namespace

void measure_metrics(const Options& asked, Report& report) {
  Options options = asked;
  options.partitions = asked.smoke ? 20 : 200;
  options.events = std::min<std::int64_t>(asked.events, 100'000);
  KafkaBench bench{options};
  const int port = support::free_port();
  DaemonSettings settings = bench.settings(50);
  settings.admin = admin_at(port);
  BenchDaemon::migrate(options, settings);
  BenchDaemon daemon{options, settings, false};
  wait_ready(port);
  const int times = asked.smoke ? 2 : scrapes;
  const auto busy = scrape_times(port, times);
  wait_settled(bench.control, options.events);
  const auto idle = scrape_times(port, times);
  report.goal("/metrics of " + std::to_string(options.partitions) + " partitions and 50 handlers", text_of(idle),
              "< 20 ms", median(idle) < max_ms);
  report.note("while it handles " + std::to_string(options.events) + " events per handler: " + text_of(busy));
  daemon.stop();
}

}  // namespace inboxd::bench
