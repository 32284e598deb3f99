// The shipped handlers kafka and exec, from a preloaded topic.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "kafka_bench.hpp"
#include "scenarios.hpp"

namespace inboxd::bench {
namespace {

/// A child that reads each line and says done.
constexpr const char* child = R"(import json, sys
for line in sys.stdin:
    event = json.loads(line)
    sys.stdout.write('{"event_id": "' + event["event_id"] + '", "outcome": "done"}\n')
    sys.stdout.flush()
)";

}  // namespace

void measure_kafka_handler(const Options& options, Report& report) {
  KafkaBench bench{options};
  const Topic copies{options.kafka, options.partitions};
  DaemonSettings settings = bench.settings();
  settings.plugin = "kafka";
  settings.handler_settings = "{topic: " + copies.name() + "}";
  settings.handler_keys = "concurrency: 8, events_per_call: 500";
  const double rate =
      median_rate(options, report, "kafka, 500 per call", [&] { return bench.daemon(settings).settled; });
  report.goal("kafka, from a preloaded topic", rate_text(rate), ">= 80k/s", rate >= 80'000);
}

void measure_exec(const Options& asked, Report& report) {
  constexpr std::int64_t max_events = 200'000;
  Options options = asked;
  options.events = std::min(options.events, max_events);
  KafkaBench bench{options};
  const auto file = std::filesystem::temp_directory_path() / (bench.topic.name() + ".py");
  std::ofstream{file} << child;
  DaemonSettings settings = bench.settings();
  settings.plugin = "exec";
  settings.handler_settings = "{command: [python3, " + file.string() + "]}";
  settings.handler_keys = "concurrency: 2, events_per_call: 100";
  const double rate =
      median_rate(options, report, "exec, 100 per call", [&] { return bench.daemon(settings).settled; });
  std::filesystem::remove(file);
  report.goal("exec, a Python child for each of two workers", rate_text(rate), ">= 10k/s", rate >= 10'000);
}

}  // namespace inboxd::bench
