#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench_daemon.hpp"
#include "postgres_session.hpp"
#include "report.hpp"

namespace inboxd::bench {

class OldSnapshot final {
 public:
  explicit OldSnapshot(const std::string& url);

 private:
  PostgresSession session_;
};

/// The parts of a run that are compared: its begin and its end. p99 of neighbouring tenths differs by half.
constexpr double compared = 0.3;

/// For full load: every thousandth event fails once and is retried a second later.
DaemonSettings with_some_retries(const std::string& database_url, const std::string& topic);

/// The text of each tenth of a run, given as from and to (0..1): shows whether a figure grows.
std::string each_tenth(const std::function<std::string(double from, double to)>& told);

/// Events settled per second in a part (0..1) of the run, by `finished_at`.
double rate_between(PostgresSession& session, double from, double to);

struct ClaimCost {
  std::int64_t buffers = 0;
  double milliseconds = 0;
  double fixed_milliseconds = 0;  ///< a fixed query just before
  std::chrono::steady_clock::time_point at;
  std::int64_t deliveries = 0;  ///< created so far
  std::string text() const;
};

/// A goal: a cost at the end may be 10 % above its begin.
void end_goal(Report& report, const std::string& what, double end, double begin);

/// A goal for a time, in two lines: plain, and relative to a fixed query that took `machine` times as long at the end.
void end_goals_of_time(Report& report, const std::string& what, double end, double begin, double machine);

/// Claims four times per second during the load and compares the first with the last three tenths, without the first
/// forty seconds. The cost depends on the number of deliveries on a claim's way, so it is also reported per delivery.
class ClaimSampler final {
 public:
  ClaimSampler(const std::string& url, std::chrono::seconds time) : session_{url}, time_{time} {}

  void start();
  void finish();

  /// Call after finish. Prints the medians of both parts and the goals for buffers and duration. Returns the ratio of a
  /// fixed query's duration, end to begin.
  double show(const std::string& load, Report& report) const;

 private:
  PostgresSession session_;
  const std::chrono::seconds time_;
  std::vector<ClaimCost> costs_;  ///< owned by the thread until it has ended
  std::jthread thread_;
};

}  // namespace inboxd::bench
