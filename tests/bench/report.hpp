#pragma once
#include <string>
#include <vector>

#include "run.hpp"

namespace inboxd::bench {

/// Prints what was measured, on stdout, as it comes: a line for each run, and for each goal a line with the figure and
/// whether it was met. Nothing is ever asserted by time.
class Report final {
 public:
  void begin(const std::string& scenario, const std::string& about);

  /// `kind`: limit, path or inboxd. Rate, CPU microseconds for each event, WAL bytes, and what of the machine's CPU
  /// time its host gave to others meanwhile: where that is much, rates and latencies say little.
  /// With the rate's part of the limit's, where that was measured: the last run of kind `limit`.
  void run(const std::string& kind, const Run& run);
  void note(const std::string& text);
  /// `what` was `figure` (in words, with unit); the goal in words, and whether it is met.
  void goal(const std::string& what, const std::string& figure, const std::string& goal, bool met);

  /// All goal lines once more, as one table.
  void summary() const;
  bool is_all_met() const { return is_all_met_; }

 private:
  std::string scenario_;
  double limit_ = 0;  ///< events a second
  std::vector<std::string> goals_;
  bool is_all_met_ = true;
};

/// Of several rounds the one in the middle (the lower of two).
double median(std::vector<double> values);
/// 143211.7 -> "143k/s".
std::string rate_text(double per_second);
/// With that many digits behind the point.
std::string fixed(double value, int digits);
std::string mebibytes(std::int64_t bytes);

}  // namespace inboxd::bench
