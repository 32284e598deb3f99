#include "daemon/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/mutex.hpp"
#include "base/text.hpp"

namespace inboxd::daemon {
namespace {

/// READY=1 of the start, RELOADING=1 and READY=1 of the last reload: systemd needs no older messages.
constexpr std::size_t max_undelivered = 3;

}  // namespace

Notify::Notify() {
  if (const char* socket = std::getenv("NOTIFY_SOCKET"); socket != nullptr) socket_ = socket;
  const char* const process = std::getenv("WATCHDOG_PID");
  const bool for_us = process == nullptr || std::atol(process) == getpid();
  if (const char* microseconds = std::getenv("WATCHDOG_USEC"); microseconds != nullptr && for_us) {
    if (const long long value = std::atoll(microseconds); value > 0)
      alive_interval_ = std::chrono::microseconds{value / 2};
  }
}

void Notify::reloading() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const std::int64_t microseconds = std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1'000;
  change("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

void Notify::status(std::string_view text) const {
  send("STATUS=" + base::escape_controls(text));  // a newline would begin another message
}

void Notify::change(std::string state) const {
  const base::Lock lock{mutex_};
  undelivered_.push_back(std::move(state));
  if (undelivered_.size() > max_undelivered) undelivered_.pop_front();
  deliver_changes();
}

bool Notify::send(const std::string& message) const {
  const base::Lock lock{mutex_};
  return deliver_changes() && deliver(message);
}

bool Notify::deliver_changes() const {
  while (!undelivered_.empty()) {
    if (!deliver(undelivered_.front())) return false;
    undelivered_.pop_front();
  }
  return true;
}

bool Notify::deliver(const std::string& message) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return true;  // nothing to notify
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (address.sun_path[0] == '@') address.sun_path[0] = '\0';  // the abstract name space
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  const auto sent = sendto(descriptor, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                           reinterpret_cast<const sockaddr*>(&address), length);
  close(descriptor);
  return sent >= 0;
}

}  // namespace inboxd::daemon
