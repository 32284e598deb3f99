#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

namespace inboxd::bench {
namespace {

/// A rate below this part of the limit is a chosen load, not a maximum.
constexpr double min_reported = 0.05;

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text + ' ';
}

std::string microseconds(double cpu_seconds, std::int64_t events) {
  return fixed(cpu_seconds * 1e6 / static_cast<double>(std::max<std::int64_t>(events, 1)), 2);
}

}  // namespace

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string rate_text(double per_second) {
  return per_second < 10'000 ? fixed(per_second, 0) + "/s" : fixed(per_second / 1000, 1) + "k/s";
}

std::string mebibytes(std::int64_t bytes) { return fixed(static_cast<double>(bytes) / (1 << 20), 0) + " MiB"; }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

void Report::begin(const std::string& scenario, const std::string& about) {
  scenario_ = scenario;
  std::cout << "\n== " << scenario << ": " << about << std::endl;
}

void Report::run(const std::string& kind, const MeasuredRun& run) {
  const auto events = static_cast<double>(std::max<std::int64_t>(run.events, 1));
  std::cout << "   " << padded(kind, 16) << padded(rate_text(run.rate()), 10) << padded(fixed(run.seconds, 2) + " s", 9)
            << "CPU us an event: PostgreSQL " << padded(microseconds(run.cost.postgres_cpu, run.events), 6) << "Kafka "
            << padded(microseconds(run.cost.kafka_cpu, run.events), 5) << "own "
            << padded(microseconds(run.cost.own_cpu, run.events), 5) << "WAL "
            << padded(fixed(run.cost.wal_bytes / events, 0) + " B", 6) << "stolen " << fixed(run.cost.stolen * 100, 0)
            << " %";
  if (kind == "limit") {
    limit_ = run.rate();
  } else if (run.rate() > limit_ * min_reported && limit_ > 0) {
    std::cout << "  " << fixed(run.rate() / limit_, 2) << " of the limit";
  }
  std::cout << std::endl;
}

void Report::note(const std::string& text) { std::cout << "   " << text << std::endl; }

void Report::goal(const std::string& what, const std::string& figure, const std::string& goal, bool met) {
  const std::string line = padded(scenario_, 15) + padded(what, 46) + padded(figure, 26) + padded("goal " + goal, 32) +
                           (met ? "met" : "NOT MET");
  std::cout << "   " << line << std::endl;
  goals_.push_back(line);
  is_all_met_ = is_all_met_ && met;
}

void Report::summary() const {
  std::cout << "\n== all goals" << std::endl;
  for (const std::string& line : goals_) std::cout << "   " << line << std::endl;
}

}  // namespace inboxd::bench
