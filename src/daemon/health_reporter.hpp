#pragma once
#include <chrono>
#include <string>

#include "base/logger.hpp"
#include "config/settings.hpp"
#include "daemon/daemon.hpp"
#include "daemon/notify.hpp"

namespace inboxd::daemon {

/// A line such as `reads 12 of 12 partitions, lag 340; 520 stored/s, 498 done/s, 2 retried/s; 3 dead since the start`.
/// Rates are averages since `before`, `elapsed` ago. Pure.
std::string status_text(const StatusFigures& before, const StatusFigures& now, std::chrono::duration<double> elapsed);

/// Reports the daemon's health: heartbeats and status to systemd, stalled loops and rates to the log. Main thread.
class HealthReporter final {
 public:
  using Clock = std::chrono::steady_clock;

  /// A reload may change `settings` between two reports.
  HealthReporter(const config::Settings& settings, const Notify& notify, Daemon& daemon, base::Logger& log);

  /// Call several times a second; each report has its own interval.
  void report(Clock::time_point now);

 private:
  void log_stalls(const std::string& stalled, Clock::time_point now);
  void notify_alive(Clock::time_point now);
  void log_rates(Clock::time_point now);
  void notify_status(Clock::time_point now);

  const config::Settings& settings_;
  const Notify& notify_;
  Daemon& daemon_;
  base::Logger& log_;
  const Clock::time_point began_ = Clock::now();
  std::string last_stalled_, logged_stalled_;
  Clock::time_point next_alive_ = began_;
  Clock::time_point next_rates_;
  Clock::time_point last_status_;
  StatusFigures last_figures_;
};

}  // namespace inboxd::daemon
