#include "base/loop.hpp"

#include "base/text.hpp"

namespace inboxd::base {

std::string standing_still(const std::vector<Loop>& loops, Loop::Clock::time_point now,
                           std::chrono::milliseconds time) {
  std::vector<std::string> names;
  for (const Loop& loop : loops) {
    if (now - loop.last_moved >= time) names.push_back(loop.name);
  }
  return joined(names);
}

}  // namespace inboxd::base
