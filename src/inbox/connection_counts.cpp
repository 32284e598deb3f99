#include "inbox/connection_counts.hpp"

#include <poll.h>

#include <algorithm>
#include <vector>

namespace inboxd::inbox {

void ConnectionCounts::add(const void* owner, int socket) {
  const std::lock_guard lock{mutex_};
  sockets_[owner] = socket;
  opened += 1;
}

void ConnectionCounts::forget(const void* owner) {
  const std::lock_guard lock{mutex_};
  sockets_.erase(owner);
}

std::int64_t ConnectionCounts::open() const {
  const std::lock_guard lock{mutex_};
  std::vector<pollfd> asked;
  for (const auto& [owner, socket] : sockets_) asked.push_back({socket, POLLRDHUP, 0});
  poll(asked.data(), asked.size(), 0);
  return std::count_if(asked.begin(), asked.end(), [](const pollfd& answer) { return answer.revents == 0; });
}

}  // namespace inboxd::inbox
