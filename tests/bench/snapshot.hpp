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
  double fixed_milliseconds = 0;  ///< what always the same question took just before
  std::chrono::steady_clock::time_point at;
  std::int64_t deliveries = 0;  ///< how many were ever made until then
  std::string text() const;
};

/// A goal line: what something costs at the end of a run may be a tenth more than at its begin.
void end_goal(Report& report, const std::string& what, double end, double begin);

/// The same of a time, told twice: as it is, and beside the time of a fixed question, which took `machine` times as
/// long at the end.
void end_goals_of_time(Report& report, const std::string& what, double end, double begin, double machine);

/// Claims all the while the load runs, four in a second, and compares those of the first with those of the last three
/// tenths, the first forty seconds left out, as until then fewer dead rows lie in a claim's way. What one costs depends
/// on how many deliveries ten seconds of batches made, which it walks over: so it is also told for each of them.
class ClaimSampler final {
 public:
  ClaimSampler(const std::string& url, std::chrono::seconds time) : session_{url}, time_{time} {}

  /// From when on the time is counted.
  void start();
  void finish();

  /// After finish: the medians of both parts, and the goals for what one claim reads and how long it takes. Returns how
  /// many times as long a fixed question took at the end as at the beginning.
  double show(const std::string& load, Report& report) const;

 private:
  Session session_;
  const std::chrono::seconds time_;
  std::vector<ClaimCost> costs_;  ///< the thread's until it has ended
  std::jthread thread_;
};

}  // namespace inboxd::bench
