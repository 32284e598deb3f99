// The metrics table is well formed, and config/metrics.md is not stale.
#include "daemon/metrics.hpp"

#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "support/promtool.hpp"

using namespace inboxd;
using namespace inboxd::daemon;
namespace files = std::filesystem;

namespace {

files::path config_folder() {
  return files::current_path() / "config";
}

std::string content_of(const files::path& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

/// Large but possible: 200 partitions, 50 handlers with twenty classes of errors each.
Figures large_figures(const consumer::IngestCounts& ingest, const settler::Settler::Counters& settled,
                      const inbox::ConnectionCounts& connections, const admin::HttpServer::Counts& http) {
  Figures out;
  for (int i = 0; i < 200; ++i) {
    out.partitions.push_back(
        {{"orders." + std::to_string(i / 20), i % 20}, consumer::PartitionLife::State::reading, i, 2 * i, 7});
  }
  const base::Histogram histogram{0.001, 0.01, 0.1, 1, 10, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};
  for (int i = 0; i < 50; ++i) {
    HandlerFigures handler;
    handler.name = "handler-" + std::to_string(i);
    handler.stats.calls = histogram.snapshot();
    handler.outcomes.end_to_end = histogram.snapshot();
    for (int j = 0; j < 20; ++j) handler.outcomes.failures["class." + std::to_string(j)] = 3;
    operations::HandlerState state;
    state.name = handler.name;
    out.observed.handlers.push_back(state);
    out.handlers.push_back(std::move(handler));
  }
  out.observed.at_us = 1;
  out.kafka_errors["_ALL_BROKERS_DOWN"] = 1;
  out.log_kinds.push_back({base::LogLevel::warn, "ingest: a \"quoted\" \\ kind", 1});
  out.ingest = &ingest;
  out.settled = &settled;
  out.connections = &connections;
  out.http = &http;
  return out;
}

}  // namespace

TEST_CASE("config/metrics.md matches the metrics table", "[generated]") {
  const auto path = config_folder() / "metrics.md";
  if (std::getenv("UPDATE_GENERATED") != nullptr) std::ofstream{path, std::ios::binary} << metrics_reference();
  INFO("config/metrics.md is stale; run UPDATE_GENERATED=1 build/release/tests/unit/unit_daemon '[generated]'");
  CHECK((content_of(path) == metrics_reference()));
}

TEST_CASE("every metric has the prefix, a conventional name, a help sentence, and bounded labels") {
  const std::set<std::string> bounded{"topic", "partition",   "handler", "outcome", "state",   "result",     "envelope",
                                      "error", "error_class", "level",   "kind",    "version", "librdkafka", "status",
                                      "reason", "grade", "alert"};
  std::set<std::string> names;
  for (const MetricRow& row : metrics_table()) {
    const auto& about = row.about;
    CAPTURE(about.name);
    CHECK(names.insert(about.name).second);
    CHECK(about.name.starts_with("inboxd_"));
    CHECK((about.kind == admin::Metric::Kind::counter) == about.name.ends_with("_total"));
    CHECK(about.help.ends_with("."));
    for (const std::string& label : about.labels) CHECK(bounded.contains(label));
  }
}

TEST_CASE("metrics of 200 partitions and 50 handlers have a line for each, with escaped label values") {
  const consumer::IngestCounts ingest;
  const settler::Settler::Counters settled;
  const inbox::ConnectionCounts connections;
  const admin::HttpServer::Counts http;
  const auto figures = large_figures(ingest, settled, connections, http);
  const std::string text = metrics_text(figures);
  CHECK(std::count(text.begin(), text.end(), '\n') > 3'000);
  CHECK(text.find("kind=\"ingest: a \\\"quoted\\\" \\\\ kind\"") != std::string::npos);
}

TEST_CASE("promtool accepts the metrics before the daemon exists, and with all values") {
  support::require_promtool();
  const consumer::IngestCounts ingest;
  const settler::Settler::Counters settled;
  const inbox::ConnectionCounts connections;
  const admin::HttpServer::Counts http;
  const auto file = files::temp_directory_path() / ("inboxd-metrics-" + std::to_string(::getpid()));
  for (const Figures& figures : {Figures{}, large_figures(ingest, settled, connections, http)}) {
    std::ofstream{file} << metrics_text(figures);
    CHECK(std::system(("promtool check metrics <" + file.string()).c_str()) == 0);
  }
  files::remove(file);
}

TEST_CASE("a histogram adds tallies, and the exposition has cumulative buckets") {
  base::Histogram histogram{1, 10};
  base::Histogram::Tally tally;
  for (const double value : {0.5, 1.0, 2.0, 100.0}) histogram.observe(value, tally);
  histogram.add(tally);
  histogram.add(tally);  // empty now
  histogram.observe(10, 3);
  const auto snapshot = histogram.snapshot();
  CHECK(snapshot.counts == std::vector<std::uint64_t>{2, 4, 1});
  CHECK(snapshot.sum == 133.5);
  admin::Exposition out;
  const admin::Metric metric{"x_seconds", admin::Metric::Kind::histogram, "Test.", {"handler"}};
  out.begin(metric);
  out.add({"a"}, snapshot);
  CHECK(out.text() ==
        "# HELP x_seconds Test.\n# TYPE x_seconds histogram\nx_seconds_bucket{handler=\"a\",le=\"1\"} 2\n"
        "x_seconds_bucket{handler=\"a\",le=\"10\"} 6\nx_seconds_bucket{handler=\"a\",le=\"+Inf\"} 7\n"
        "x_seconds_sum{handler=\"a\"} 133.5\nx_seconds_count{handler=\"a\"} 7\n");
}
