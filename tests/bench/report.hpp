#pragma once
#include <string>
#include <vector>

#include "measured_run.hpp"
#include "options.hpp"

namespace inboxd::bench {

/// Prints to stdout: a line for each run, and for each goal a line with the figure and whether it is met.
class Report final {
 public:
  void begin(const std::string& scenario, const std::string& about);

  /// `kind`: limit, baseline or inboxd. Prints the rate, its ratio to the last run of kind `limit`, CPU microseconds
  /// and WAL bytes per event, and the share of CPU that the host gave to others: if that is large, rates and latencies
  /// mean little.
  void run(const std::string& kind, const MeasuredRun& run);
  void note(const std::string& text);
  /// `figure` and `goal` in words, with unit.
  void goal(const std::string& what, const std::string& figure, const std::string& goal, bool met);

  void summary() const;
  bool is_all_met() const { return is_all_met_; }

 private:
  std::string scenario_;
  double limit_ = 0;  ///< events a second
  std::vector<std::string> goals_;
  bool is_all_met_ = true;
};

/// The lower median.
double median(std::vector<double> values);

/// The median rate of as many runs as there are rounds, each reported under `kind`. `measure` returns a MeasuredRun.
template <class Measure>
double median_rate(const Options& options, Report& report, const char* kind, Measure measure) {
  std::vector<double> rates;
  for (int round = 0; round < options.rounds; ++round) {
    const MeasuredRun run = measure();
    report.run(kind, run);
    rates.push_back(run.rate());
  }
  return median(rates);
}

/// 143211.7 -> "143k/s".
std::string rate_text(double per_second);
std::string fixed(double value, int digits);
std::string mebibytes(std::int64_t bytes);

}  // namespace inboxd::bench
