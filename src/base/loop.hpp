#pragma once
#include <chrono>
#include <string>
#include <vector>

namespace inboxd::base {

/// A thread that goes round and round, and when it last came round: who watches over it tells by that whether it
/// stands still.
struct Loop {
  using Clock = std::chrono::steady_clock;

  std::string name;  ///< the thread's, as `top -H` shows it
  Clock::time_point last_moved;
};

/// The names of those that have not come round for that long, `claimer, settler`; empty: all move. Pure.
std::string standing_still(const std::vector<Loop>& loops, Loop::Clock::time_point now, std::chrono::milliseconds time);

}  // namespace inboxd::base
