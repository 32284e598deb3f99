#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace inboxd::daemon {

/// How the daemon fares, in a dozen numbers: what `systemctl status` shows.
struct StatusFigures {
  std::int64_t reading = 0;  ///< partitions that are read
  std::int64_t assigned = 0;
  std::int64_t halted = 0;
  std::int64_t lag = 0;      ///< records, of the partitions whose end is known
  std::uint64_t stored = 0;  ///< since the start, like the following
  std::uint64_t done = 0;
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  bool is_paused = false;
};

/// What this process has done since it started: records, and outcomes of events.
struct Totals {
  std::uint64_t stored = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t quarantined = 0;
  std::uint64_t conflicts = 0;
  std::uint64_t done = 0;
  std::uint64_t retried = 0;
  std::uint64_t dead = 0;
  std::uint64_t leases_lost = 0;
};

/// `handler mail is stopped: 3 calls never returned; restart after mending it`.
std::string stopped_text(const std::string& handler, int calls);

/// One line: `reads 12 of 12 partitions, lag 340; 520 stored/s, 498 done/s, 2 retried/s; 3 dead since the start`. Rates
/// are those since `before`, so long ago.
std::string status_text(const StatusFigures& before, const StatusFigures& now, std::chrono::duration<double> elapsed);

}  // namespace inboxd::daemon
