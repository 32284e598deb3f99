// The http handler before a service in this process.
#include "http_service.hpp"
#include "kafka_bench.hpp"
#include "latency.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

constexpr std::int64_t single_events = 200'000;
constexpr std::chrono::seconds usual_time{20};
constexpr std::chrono::seconds smoke_time{2};

std::string url_of(const HttpService& service) {
  return "{url: \"http://127.0.0.1:" + std::to_string(service.port()) + "/events\"}";
}

MeasuredRun measure_posts(KafkaBench& bench, const std::string& keys) {
  const HttpService service;
  DaemonSettings settings = bench.settings();
  settings.plugin = "http";
  settings.handler_settings = url_of(service);
  settings.handler_keys = keys;
  return bench.daemon(settings).settled;
}

}  // namespace

void measure_http(const Options& asked, Report& report) {
  Options options = asked;
  options.events = std::min(options.events, single_events);
  {
    KafkaBench bench{options};
    const double single =
        median_rate(options, report, "http, single", [&] { return measure_posts(bench, "concurrency: 64"); });
    report.goal("http, one event a request, concurrency 64", rate_text(single), ">= 10k/s", single >= 10'000);
    const double hundred = median_rate(options, report, "http, 100",
                                       [&] { return measure_posts(bench, "concurrency: 64, events_per_call: 100"); });
    report.goal("http, 100 events a request", rate_text(hundred), ">= 50k/s", hundred >= 50'000);
  }
  const ScratchDatabase database{options.postgres};
  Topic topic{options.kafka, options.partitions};
  const HttpService service;
  SteadyLoad load{.time = options.smoke ? smoke_time : usual_time, .handler_keys = "concurrency: 64"};
  load.plugin = "http";
  load.more_settings = url_of(service);
  load.read_latencies = [&] { return service.latencies(); };
  const SteadyRun run = run_steadily(options, database.url(), topic, load);
  report.run("http at 1,000/s", run.run);
  report.note("produce to POST received: " + percentiles_text(run.latencies));
  const double p50 = percentile_ms(run.latencies, 0.5), p99 = percentile_ms(run.latencies, 0.99);
  report.goal("produce to POST received at 1,000/s, p50 / p99", fixed(p50, 2) + " / " + fixed(p99, 2) + " ms",
              "< 4 / < 12 ms", p50 < 4 && p99 < 12);
}

}  // namespace inboxd::bench
