#pragma once
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace inboxd::base {

/// The time of a loop's last round. The loop's thread beats; any thread reads.
class Heartbeat final {
 public:
  using Clock = std::chrono::steady_clock;

  void beat() { last_ = Clock::now().time_since_epoch().count(); }
  Clock::time_point last() const { return Clock::time_point{Clock::duration{last_.load()}}; }

 private:
  std::atomic<Clock::rep> last_{Clock::now().time_since_epoch().count()};
};

/// A loop's thread name, as `top -H` shows it, and its last beat.
struct Loop {
  std::string name;
  Heartbeat::Clock::time_point last_beat;
};

/// The loops without a beat for `age`: `claimer, settler`; empty: none. Pure.
std::string stalled_loops(const std::vector<Loop>& loops, Heartbeat::Clock::time_point now,
                          std::chrono::milliseconds age);

}  // namespace inboxd::base
