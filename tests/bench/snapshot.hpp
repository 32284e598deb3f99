#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

#include "daemon.hpp"
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

/// Claims while the load runs, when a part of its time has gone by: what one reads (the median), and how long it takes
/// where nothing comes between (the least).
class ClaimSampler final {
 public:
  ClaimSampler(const std::string& url, std::chrono::seconds time) : session_{url}, time_{time} {}

  /// From when on the time is counted.
  void start();
  void finish();

  ClaimCost begin, end;

 private:
  ClaimCost sample(std::chrono::steady_clock::time_point when, const std::stop_token& stop);

  Session session_;
  const std::chrono::seconds time_;
  std::jthread thread_;
};

}  // namespace inboxd::bench
