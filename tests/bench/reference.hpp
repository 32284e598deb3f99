#pragma once
#include <string>
#include <vector>

#include "report.hpp"
#include "run.hpp"

namespace inboxd::bench {

/// The machine for which goals without a ratio (events a second, CPU for an event) were set, told by what the path does
/// on it. Hours of one machine differ by a factor of four, and machines more: such a figure is carried over by what the
/// path did in the same minutes, and printed beside the plain one.
namespace reference {
constexpr double path_rate = 175'000;  ///< events a second, end to end: the lower end of what it did there
constexpr double path_us = 0.8;        ///< of CPU for an event, without PostgreSQL and Kafka
}  // namespace reference

/// Rates and the path's in the same minutes, one a round.
struct RatesBesidePath {
  std::vector<double> rate, path_rate, ratio;

  void add(const Run& run, const Run& path) {
    rate.push_back(run.rate());
    path_rate.push_back(path.rate());
    ratio.push_back(run.rate() / path.rate());
  }
};

/// Prints a rate beside its goal, as it is and carried over by the path's.
inline void goal_of_rate(Report& report, const std::string& what, const RatesBesidePath& rounds, double goal) {
  const double rate = median(rounds.rate);
  const std::string words = ">= " + fixed(goal / 1000, 0) + "k/s";
  report.goal(what, rate_text(rate), words, rate >= goal);
  const double carried = median(rounds.ratio) * reference::path_rate;
  report.goal("the same where the path does " + fixed(reference::path_rate / 1000, 0) +
                  "k/s (here: " + rate_text(median(rounds.path_rate)) + ")",
              rate_text(carried), words, carried >= goal);
}

}  // namespace inboxd::bench
