#include "dispatcher/reservations.hpp"

#include <algorithm>

namespace inboxd::dispatcher {

void Reservations::reserve(std::thread::id who, std::int64_t events, std::int64_t bytes, Clock::time_point now) {
  if (events <= 0) return;
  Standing& standing = standing_[who];
  if (standing.events == 0) standing.since = now;
  standing.events += events;
  events_ += events;
  bytes_ += bytes;
}

Reservations::Clock::time_point Reservations::end(std::thread::id who, std::int64_t events, Clock::time_point now) {
  auto at = standing_.find(who);
  if (at == standing_.end()) {
    at = std::min_element(standing_.begin(), standing_.end(),
                          [](const auto& a, const auto& b) { return a.second.since < b.second.since; });
  }
  if (at == standing_.end()) return now;
  const auto since = at->second.since;
  const std::int64_t ended = std::min(events, at->second.events);
  bytes_ = ended == events_ ? 0 : bytes_ - bytes_ / events_ * ended;
  events_ -= ended;
  at->second.events -= ended;
  if (at->second.events == 0) standing_.erase(at);
  return since;
}

}  // namespace inboxd::dispatcher
