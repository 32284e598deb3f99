#include "daemon/health_reporter.hpp"

#include <algorithm>
#include <cstdio>

#include "base/heartbeat.hpp"
#include "config/units.hpp"

namespace inboxd::daemon {
namespace {

using namespace std::chrono_literals;

constexpr auto rates_interval = 10s;
constexpr auto status_interval = 2s;

/// With a decimal below ten, so that a low rate does not read 0.
std::string rate_text(std::uint64_t before, std::uint64_t now, std::chrono::duration<double> elapsed) {
  const double rate = elapsed.count() > 0 ? static_cast<double>(now - before) / elapsed.count() : 0;
  char text[32];
  std::snprintf(text, sizeof text, rate > 0 && rate < 9.95 ? "%.1f" : "%.0f", rate);
  return text;
}

/// `?` if no lag is known, `340 and ? of 2 partitions` if two are unknown.
std::string lag_text(const StatusFigures& now) {
  if (now.lag_unknown == 0) return std::to_string(now.lag);
  if (now.lag_unknown == now.assigned) return "?";
  return std::to_string(now.lag) + " and ? of " + std::to_string(now.lag_unknown) + " partitions";
}

}  // namespace

std::string status_text(const StatusFigures& before, const StatusFigures& now, std::chrono::duration<double> elapsed) {
  std::string out = now.is_paused ? "handlers paused; " : "";
  out += "reads " + std::to_string(now.reading) + " of " + std::to_string(now.assigned) + " partitions";
  if (now.halted > 0) out += ", " + std::to_string(now.halted) + " HALTED";
  out += ", lag " + lag_text(now);
  out += "; " + rate_text(before.stored, now.stored, elapsed) + " stored/s, ";
  out += rate_text(before.done, now.done, elapsed) + " done/s";
  if (now.retried > before.retried) out += ", " + rate_text(before.retried, now.retried, elapsed) + " retried/s";
  if (now.dead > 0) out += "; " + std::to_string(now.dead) + " dead since the start";
  if (now.expired > 0) out += "; " + std::to_string(now.expired) + " expired since the start";
  return out;
}

HealthReporter::HealthReporter(const config::Settings& settings, const Notify& notify, Daemon& daemon,
                               base::Logger& log)
    : settings_{settings},
      notify_{notify},
      daemon_{daemon},
      log_{log},
      next_rates_{began_ + rates_interval},
      last_status_{began_ - status_interval} {}

void HealthReporter::report(Clock::time_point now) {
  const std::string stalled = base::stalled_loops(daemon_.loops(), now, stall_limit(settings_));
  log_stalls(stalled, now);
  if (stalled.empty()) notify_alive(now);
  log_rates(now);
  notify_status(now);
}

/// The log must explain a kill by a watchdog. Needs the same result twice: after a pause of the whole process, the main
/// thread may run first.
void HealthReporter::log_stalls(const std::string& stalled, Clock::time_point now) {
  const bool is_new = now - began_ < stall_limit(settings_);  // some loops have not completed a round yet
  const bool is_news = !is_new && stalled == last_stalled_ && stalled != logged_stalled_;
  last_stalled_ = stalled;
  if (!is_news) return;
  logged_stalled_ = stalled;
  if (stalled.empty()) {
    log_.info("daemon.loops_recovered");
  } else {
    log_.error("daemon.loop_stalled",
               {{"loop", stalled}, {"longer_than", config::duration_text(stall_limit(settings_))}});
  }
}

void HealthReporter::notify_alive(Clock::time_point now) {
  if (!notify_.alive_interval() || now < next_alive_) return;
  if (!notify_.alive()) return;  // retried at the next report
  next_alive_ = now + std::min<Clock::duration>(*notify_.alive_interval(), 1s);
}

void HealthReporter::log_rates(Clock::time_point now) {
  if (now < next_rates_) return;
  next_rates_ = now + rates_interval;
  daemon_.log_rates();
}

void HealthReporter::notify_status(Clock::time_point now) {
  if (now - last_status_ < status_interval) return;
  const StatusFigures figures = daemon_.status();
  notify_.status(status_text(last_figures_, figures, now - last_status_));
  last_figures_ = figures;
  last_status_ = now;
}

}  // namespace inboxd::daemon
