#include "dispatcher/room.hpp"

#include <algorithm>

namespace inboxd::dispatcher {

void Budget::deal(int handlers) {
  const std::int64_t share = limit_ / (2 * std::max(handlers, 1));
  share_ = share;
  common_ = limit_ - share * std::max(handlers, 1);
}

std::int64_t Budget::common_part(std::int64_t held) const { return std::max<std::int64_t>(0, held - share_.load()); }

std::int64_t Budget::left_for(std::int64_t held) const {
  const std::int64_t of_share = std::max<std::int64_t>(0, share_.load() - held);
  return of_share + std::max<std::int64_t>(0, common_.load() - used_.load());
}

std::int64_t free_room(const RoomState& state) {
  const std::int64_t wanted = std::max(state.target, state.minimum) - state.held;
  const std::int64_t by_events = std::max(state.events_left, state.minimum - state.held);
  const std::int64_t by_bytes = state.bytes_left / std::max<std::int64_t>(state.bytes_per_event, 1);
  const std::int64_t room = std::max<std::int64_t>(0, std::min({wanted, by_events, by_bytes}));
  return state.held == 0 ? std::max<std::int64_t>(room, 1) : room;
}

}  // namespace inboxd::dispatcher
