// What one look at the metrics of a large daemon takes, from the request to the last byte.
#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "kafka_bench.hpp"
#include "scenarios.hpp"
#include "scraper.hpp"
#include "support/environment.hpp"

namespace inboxd::bench {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr int looks = 25;
constexpr auto looked_every = 100ms;
constexpr auto within = 300s;
constexpr double most_ms = 20;

/// Milliseconds of each.
std::vector<double> look(int port, int times) {
  std::vector<double> took;
  for (int i = 0; i < times; ++i) {
    const auto began = Clock::now();
    if (status_of(port, "/metrics") != 200) throw std::runtime_error{"no metrics"};
    took.push_back(std::chrono::duration<double, std::milli>(Clock::now() - began).count());
    std::this_thread::sleep_for(looked_every);
  }
  return took;
}

std::string text_of(const std::vector<double>& took) {
  return fixed(median(took), 1) + " ms (at most " + fixed(*std::max_element(took.begin(), took.end()), 1) + ")";
}

void wait_settled(Session& control, std::int64_t events) {
  for (const auto began = Clock::now(); control.number("select count(*) from inbox.event") < events ||
                                        control.number("select count(*) from inbox.delivery") > 0;
       std::this_thread::sleep_for(looked_every)) {
    if (Clock::now() - began > within) throw std::runtime_error{"waited in vain until all is settled"};
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
  Daemon::migrate(options, settings);
  Daemon daemon{options, settings, false};
  wait_ready(port);
  const int times = asked.smoke ? 2 : looks;
  const auto busy = look(port, times);
  wait_settled(bench.control, options.events);
  const auto idle = look(port, times);
  report.goal("/metrics of " + std::to_string(options.partitions) + " partitions and 50 handlers", text_of(idle),
              "< 20 ms", median(idle) < most_ms);
  report.note("while it works off " + std::to_string(options.events) + " events for each of them: " + text_of(busy));
  daemon.stop();
}

}  // namespace inboxd::bench
