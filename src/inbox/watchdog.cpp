#include "inbox/watchdog.hpp"

#include <sys/socket.h>

#include <algorithm>

namespace inboxd::inbox {

Watchdog::Watchdog() : thread_{[this] { run(); }} {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t Watchdog::watch(int socket, std::chrono::steady_clock::time_point deadline) {
  const std::lock_guard lock{mutex_};
  const auto id = next_id_++;
  watches_.emplace(id, Watch{socket, deadline, false});
  // All deadlines are far off and alike, so the thread looks again often enough by itself: no wake-up a statement.
  return id;
}

bool Watchdog::forget(std::uint64_t id) {
  const std::lock_guard lock{mutex_};
  const auto found = watches_.find(id);
  if (found == watches_.end()) return false;
  const bool fired = found->second.fired;
  watches_.erase(found);
  return fired;
}

void Watchdog::cut_all() {
  const std::lock_guard lock{mutex_};
  cutting_ = true;
  changed_.notify_all();
}

void Watchdog::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    changed_.wait_for(lock, std::chrono::milliseconds{100});
    const auto now = std::chrono::steady_clock::now();
    for (auto& [id, watch] : watches_) {
      if (watch.fired || (now < watch.deadline && !cutting_)) continue;
      watch.fired = true;
      shutdown(watch.socket, SHUT_RDWR);
    }
  }
}

}  // namespace inboxd::inbox
