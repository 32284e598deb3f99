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
  watches_.emplace(id, Watch{socket, std::chrono::steady_clock::now(), deadline, false});
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

void Watchdog::hurry(std::chrono::steady_clock::time_point from, std::chrono::milliseconds longest) {
  const std::lock_guard lock{mutex_};
  hurry_from_ = from;
  longest_ = longest;
}

void Watchdog::cut_all(std::chrono::steady_clock::time_point from) {
  const std::lock_guard lock{mutex_};
  cut_from_ = from;
}

bool Watchdog::is_over(std::chrono::steady_clock::time_point began) const {
  const std::lock_guard lock{mutex_};
  return is_over(began, std::chrono::steady_clock::now());
}

bool Watchdog::is_over(std::chrono::steady_clock::time_point began, std::chrono::steady_clock::time_point now) const {
  return now >= cut_from_ || (now >= hurry_from_ && now - began >= longest_);
}

void Watchdog::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    changed_.wait_for(lock, std::chrono::milliseconds{100});
    const auto now = std::chrono::steady_clock::now();
    for (auto& [id, watch] : watches_) {
      if (watch.fired || (now < watch.deadline && !is_over(watch.began, now))) continue;
      watch.fired = true;
      shutdown(watch.socket, SHUT_RDWR);
    }
  }
}

}  // namespace inboxd::inbox
