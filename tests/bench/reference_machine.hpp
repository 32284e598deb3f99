#pragma once
#include <string>
#include <vector>

#include "measured_run.hpp"
#include "report.hpp"

namespace inboxd::bench {

/// The machine for which the absolute goals (events per second, CPU per event) were set, described by the baseline's
/// figures on it. The hours of a machine differ by a factor of four. So a figure is also scaled by the baseline's
/// figure of the same minutes, and printed next to the plain figure.
namespace reference {
constexpr double baseline_rate = 175'000;  ///< events per second, end to end: the lowest there
constexpr double baseline_us = 0.8;        ///< CPU per event, without PostgreSQL and Kafka
}  // namespace reference

/// Rates, and the baseline's of the same minutes, a rate per round.
struct RatesBesideBaseline {
  std::vector<double> rate, baseline_rate, ratio;

  void add(const MeasuredRun& run, const MeasuredRun& baseline) {
    rate.push_back(run.rate());
    baseline_rate.push_back(baseline.rate());
    ratio.push_back(run.rate() / baseline.rate());
  }
};

/// Prints a rate with its goal, plain and scaled by the baseline's.
inline void goal_of_rate(Report& report, const std::string& what, const RatesBesideBaseline& rounds, double goal) {
  const double rate = median(rounds.rate);
  const std::string words = ">= " + fixed(goal / 1000, 0) + "k/s";
  report.goal(what, rate_text(rate), words, rate >= goal);
  const double carried = median(rounds.ratio) * reference::baseline_rate;
  report.goal("the same where the baseline does " + fixed(reference::baseline_rate / 1000, 0) +
                  "k/s (here: " + rate_text(median(rounds.baseline_rate)) + ")",
              rate_text(carried), words, carried >= goal);
}

}  // namespace inboxd::bench
