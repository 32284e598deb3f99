#include "support/notify_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace inboxd::support {

NotifySocket::NotifySocket() {
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string where = path();
  if (where.size() >= sizeof address.sun_path) throw std::runtime_error{"the path is too long for a socket: " + where};
  std::memcpy(address.sun_path, where.c_str(), where.size() + 1);
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error{"cannot listen at " + where};
  }
  thread_ = std::thread{[this] { run(); }};
}

NotifySocket::~NotifySocket() {
  stopping_ = true;
  thread_.join();
  close(socket_);
}

int NotifySocket::count(const std::string& line) const {
  const std::lock_guard lock{mutex_};
  return static_cast<int>(std::count(lines_.begin(), lines_.end(), line));
}

bool NotifySocket::has_begun_with(const std::string& beginning) const {
  const std::lock_guard lock{mutex_};
  return std::any_of(lines_.begin(), lines_.end(),
                     [&](const std::string& line) { return line.starts_with(beginning); });
}

std::vector<std::string> NotifySocket::lines() const {
  const std::lock_guard lock{mutex_};
  return lines_;
}

void NotifySocket::run() {
  while (!stopping_) {
    pollfd polled{socket_, POLLIN, 0};
    if (poll(&polled, 1, 50) <= 0) continue;
    std::array<char, 4096> bytes{};
    const auto size = recv(socket_, bytes.data(), bytes.size(), 0);
    if (size <= 0) continue;
    std::istringstream text{std::string{bytes.data(), static_cast<std::size_t>(size)}};
    const std::lock_guard lock{mutex_};
    for (std::string line; std::getline(text, line);) lines_.push_back(line);
  }
}

}  // namespace inboxd::support
