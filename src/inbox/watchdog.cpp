#include "inbox/watchdog.hpp"

#include <sys/socket.h>

#include <algorithm>

namespace inboxd::inbox {
namespace {

/// Between two looks at what is watched: where nothing is about to end, and at the end.
constexpr std::chrono::milliseconds calm_look{1'000};
constexpr std::chrono::milliseconds hurried_look{20};

}  // namespace

Watchdog::Watchdog() : thread_{[this] { run(); }} {
  pthread_setname_np(thread_.native_handle(), "watchdog");
}

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
  // Nearly all deadlines are further off than the next look: no wake-up for a statement.
  if (deadline < next_look_) changed_.notify_one();
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
  changed_.notify_one();
}

void Watchdog::cut_all(std::chrono::steady_clock::time_point from) {
  const std::lock_guard lock{mutex_};
  cut_from_ = from;
  changed_.notify_one();
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
    look();
    changed_.wait_until(lock, next_look_);
  }
}

/// Ends what is over, and finds out when the next may be.
void Watchdog::look() {
  const auto now = std::chrono::steady_clock::now();
  last_look_ = now;
  const bool in_a_hurry = std::min(hurry_from_, cut_from_) != std::chrono::steady_clock::time_point::max();
  next_look_ = now + (in_a_hurry ? hurried_look : calm_look);
  for (auto& [id, watch] : watches_) {
    if (watch.fired) continue;
    if (now >= watch.deadline || is_over(watch.began, now)) {
      watch.fired = true;
      shutdown(watch.socket, SHUT_RDWR);
    } else {
      next_look_ = std::min(next_look_, watch.deadline);
    }
  }
}

}  // namespace inboxd::inbox
