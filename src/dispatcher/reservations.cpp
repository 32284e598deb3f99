#include "dispatcher/reservations.hpp"

#include <algorithm>

namespace inboxd::dispatcher {

void Reservations::reserve(std::thread::id who, std::int64_t events, std::int64_t bytes, Clock::time_point lease_end) {
  if (events <= 0) return;
  Standing& standing = standing_[who];
  standing.lease_end = standing.events == 0 ? lease_end : std::min(standing.lease_end, lease_end);
  standing.events += events;
  events_ += events;
  bytes_ += bytes;
}

std::optional<Reservations::Clock::time_point> Reservations::end(std::thread::id who, std::int64_t events) {
  auto at = standing_.find(who);
  if (at == standing_.end()) {
    at = std::min_element(standing_.begin(), standing_.end(),
                          [](const auto& a, const auto& b) { return a.second.lease_end < b.second.lease_end; });
  }
  if (at == standing_.end()) return std::nullopt;
  const auto lease_end = at->second.lease_end;
  const std::int64_t ended = std::min(events, at->second.events);
  bytes_ = ended == events_ ? 0 : bytes_ - bytes_ / events_ * ended;
  events_ -= ended;
  at->second.events -= ended;
  if (at->second.events == 0) standing_.erase(at);
  return lease_end;
}

}  // namespace inboxd::dispatcher
