#pragma once
#include <algorithm>
#include <chrono>
#include <functional>

#include "base/heartbeat.hpp"
#include "base/stop_signal.hpp"

namespace inboxd::maintenance {

/// The turn of a periodic task. A long task works in batches and ends its turn early, so that other tasks run. Not
/// thread-safe.
class Turn final {
 public:
  using Clock = std::chrono::steady_clock;

  Turn(base::Heartbeat& heartbeat, base::StopSignal& stop) : heartbeat_{heartbeat}, stop_{stop} {}

  void begin(Clock::time_point end) {
    heartbeat_.beat();
    end_ = end;
    has_more_ = false;
  }
  void fail() { has_more_ = false; }
  /// The turn ended before the work: the task runs again after the others.
  bool has_more() const { return has_more_; }

  /// Call between two batches. False at a stop, and when the turn is over.
  bool should_continue() {
    heartbeat_.beat();
    if (stop_.is_requested()) return false;
    has_more_ = has_more_ || Clock::now() >= end_;
    return !has_more_;
  }

  /// Repeats the batch while it returns true (there is more) and the turn lasts.
  void run_batches(const std::function<bool()>& batch) {
    heartbeat_.beat();
    while (batch() && should_continue()) {
    }
  }

  /// Runs with a rest after each batch, four times as long as the batch and at most a second: a purge leaves the server
  /// to ingest.
  void run_gently(const std::function<bool()>& batch) {
    run_batches([&] {
      const auto began = Clock::now();
      const bool has_next = batch();
      if (has_next) stop_.wait_for(std::min<Clock::duration>(4 * (Clock::now() - began), std::chrono::seconds{1}));
      return has_next;
    });
  }

  void rest(Clock::duration time) { stop_.wait_for(time); }
  void beat() { heartbeat_.beat(); }

 private:
  base::Heartbeat& heartbeat_;
  base::StopSignal& stop_;
  Clock::time_point end_{};
  bool has_more_ = false;
};

}  // namespace inboxd::maintenance
