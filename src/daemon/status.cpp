#include "daemon/status.hpp"

#include <cmath>
#include <cstdio>

namespace inboxd::daemon {
namespace {

/// Below ten with one digit behind the point: a trickle is not nothing.
std::string rate_text(std::uint64_t before, std::uint64_t now, std::chrono::duration<double> elapsed) {
  const double rate = elapsed.count() > 0 ? static_cast<double>(now - before) / elapsed.count() : 0;
  char text[32];
  std::snprintf(text, sizeof text, rate > 0 && rate < 9.95 ? "%.1f" : "%.0f", rate);
  return text;
}

}  // namespace

std::string stopped_text(const std::string& handler, int calls) {
  return "handler " + handler + " is stopped: " + std::to_string(calls) + (calls == 1 ? " call" : " calls") +
         " never returned; restart after mending it";
}

std::string status_text(const StatusFigures& before, const StatusFigures& now, std::chrono::duration<double> elapsed) {
  std::string out = now.is_paused ? "handlers paused; " : "";
  out += "reads " + std::to_string(now.reading) + " of " + std::to_string(now.assigned) + " partitions";
  if (now.halted > 0) out += ", " + std::to_string(now.halted) + " HALTED";
  out += ", lag " + std::to_string(now.lag);
  out += "; " + rate_text(before.stored, now.stored, elapsed) + " stored/s, ";
  out += rate_text(before.done, now.done, elapsed) + " done/s";
  if (now.retried > before.retried) out += ", " + rate_text(before.retried, now.retried, elapsed) + " retried/s";
  if (now.dead > 0) out += "; " + std::to_string(now.dead) + " dead since the start";
  return out;
}

}  // namespace inboxd::daemon
