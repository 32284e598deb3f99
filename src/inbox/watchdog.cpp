#include "inbox/watchdog.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "base/mutex.hpp"

namespace inboxd::inbox {
namespace {

/// Between two checks: normally, and once limit_all or cut_all was called.
constexpr std::chrono::milliseconds check_interval{1'000};
constexpr std::chrono::milliseconds hurried_interval{20};

}  // namespace

Watchdog::Watchdog() : thread_{[this] { run(); }} { pthread_setname_np(thread_.native_handle(), "watchdog"); }

Watchdog::~Watchdog() {
  {
    const base::Lock lock{mutex_};
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t Watchdog::watch(int socket, std::chrono::steady_clock::time_point deadline) {
  const base::Lock lock{mutex_};
  const auto id = next_id_++;
  watches_.emplace(id, Watch{socket, std::chrono::steady_clock::now(), deadline, false});
  // Nearly all deadlines lie beyond the next check: a statement costs no wake-up.
  if (deadline < next_check_) changed_.notify_one();
  return id;
}

bool Watchdog::unwatch(std::uint64_t id) {
  const base::Lock lock{mutex_};
  const auto found = watches_.find(id);
  if (found == watches_.end()) return false;
  const bool fired = found->second.fired;
  watches_.erase(found);
  return fired;
}

void Watchdog::limit_all(std::chrono::steady_clock::time_point from, std::chrono::milliseconds longest) {
  const base::Lock lock{mutex_};
  limit_from_ = from;
  longest_ = longest;
  changed_.notify_one();
}

void Watchdog::cut_all(std::chrono::steady_clock::time_point from) {
  const base::Lock lock{mutex_};
  cut_from_ = from;
  changed_.notify_one();
}

bool Watchdog::must_end(std::chrono::steady_clock::time_point began) const {
  const base::Lock lock{mutex_};
  return must_end(began, std::chrono::steady_clock::now());
}

bool Watchdog::must_end(std::chrono::steady_clock::time_point began, std::chrono::steady_clock::time_point now) const {
  return now >= cut_from_ || (now >= limit_from_ && now - began >= longest_);
}

void Watchdog::run() {
  base::Lock lock{mutex_};
  while (!stopping_) {
    check();
    changed_.wait_until(lock, next_check_);
  }
}

/// Shuts down the sockets whose time is up, and computes the time of the next check.
void Watchdog::check() {
  const auto now = std::chrono::steady_clock::now();
  last_check_ = now;
  const bool is_hurried = std::min(limit_from_, cut_from_) != std::chrono::steady_clock::time_point::max();
  next_check_ = now + (is_hurried ? hurried_interval : check_interval);
  for (auto& [id, watch] : watches_) {
    if (watch.fired) continue;
    if (now >= watch.deadline || must_end(watch.began, now)) {
      watch.fired = true;
      shutdown(watch.socket, SHUT_RDWR);
    } else {
      next_check_ = std::min(next_check_, watch.deadline);
    }
  }
}

void ConnectionCounts::add(const void* owner, int socket) {
  const base::Lock lock{mutex_};
  sockets_[owner] = socket;
  opened += 1;
}

void ConnectionCounts::remove(const void* owner) {
  const base::Lock lock{mutex_};
  sockets_.erase(owner);
}

std::int64_t ConnectionCounts::open() const {
  const base::Lock lock{mutex_};
  std::vector<pollfd> polled;
  for (const auto& [owner, socket] : sockets_) polled.push_back({socket, POLLRDHUP, 0});
  poll(polled.data(), polled.size(), 0);
  return std::count_if(polled.begin(), polled.end(), [](const pollfd& answer) { return answer.revents == 0; });
}

}  // namespace inboxd::inbox
