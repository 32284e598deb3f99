#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "daemon.hpp"
#include "report.hpp"
#include "session.hpp"

namespace inboxd::bench {

/// An old snapshot, held as long as this lives.
class OldSnapshot final {
 public:
  explicit OldSnapshot(const std::string& url);

 private:
  Session session_;
};

/// Of a run under steady load: its begin and its end are compared. p99 of two tenths that follow each other differs by
/// a half.
constexpr double compared = 0.3;

/// At full load: one event in a thousand fails once and is tried again a second later.
DaemonSettings with_some_retries(const std::string& database_url, const std::string& topic);

/// What is told of each tenth of a run, from which part (0..1) to which: whether something grows, or comes once.
std::string each_tenth(const std::function<std::string(double from, double to)>& told);

/// Events settled a second in a part of the run (0..1), by the times that the outcomes bear.
double rate_between(Session& session, double from, double to);

struct ClaimCost {
  std::int64_t buffers = 0;
  double milliseconds = 0;
  std::string text() const;
};

/// A goal line: what something costs at the end of a run may be a tenth more than at its begin.
void end_goal(Report& report, const std::string& what, double end, double begin);

/// Claims all the while the load runs, four in a second, and compares those of the first with those of the last three
/// tenths: what a single one costs depends on the batches of the ten seconds before it.
class ClaimSampler final {
 public:
  ClaimSampler(const std::string& url, std::chrono::seconds time) : session_{url}, time_{time} {}

  /// From when on the time is counted.
  void start();
  void finish();

  /// After finish: the medians of both parts, and the goals for what one claim reads and how long it takes.
  void show(const std::string& load, Report& report) const;

 private:
  Session session_;
  const std::chrono::seconds time_;
  std::vector<ClaimCost> costs_;  ///< the thread's until it has ended
  std::jthread thread_;
};

}  // namespace inboxd::bench
