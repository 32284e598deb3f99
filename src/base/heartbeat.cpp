#include "base/heartbeat.hpp"

#include "base/text.hpp"

namespace inboxd::base {

std::string stalled_loops(const std::vector<Loop>& loops, Heartbeat::Clock::time_point now,
                          std::chrono::milliseconds age) {
  std::vector<std::string> names;
  for (const Loop& loop : loops) {
    if (now - loop.last_beat >= age) names.push_back(loop.name);
  }
  return joined(names);
}

}  // namespace inboxd::base
