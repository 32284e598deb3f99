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
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) throw std::runtime_error{"the path is too long for a socket: " + path};
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

}  // namespace

NotifySocket::NotifySocket() {
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const std::string where = path();
  const sockaddr_un address = address_of(where);
  if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw std::runtime_error{"cannot listen at " + where};
  }
  resume_reading();
}

NotifySocket::~NotifySocket() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  close(socket_);
}

void NotifySocket::stop_reading() {
  stopping_ = true;
  thread_.join();
  fill();
}

void NotifySocket::resume_reading() {
  stopping_ = false;
  thread_ = std::thread{[this] { run(); }};
}

void NotifySocket::fill() const {
  const sockaddr_un address = address_of(path());
  // A sender may run out of its own buffer first (net.unix.max_dgram_qlen is 512 under systemd), so use new senders
  // until a sender can send nothing.
  int sent = 1;
  while (sent > 0) {
    const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (sent = 0; sendto(sender, "FILL=1", 6, MSG_DONTWAIT, reinterpret_cast<const sockaddr*>(&address),
                          sizeof address) > 0;) {
      ++sent;
    }
    close(sender);
  }
}

int NotifySocket::count(const std::string& line) const {
  const std::lock_guard lock{mutex_};
  return static_cast<int>(std::count(lines_.begin(), lines_.end(), line));
}

bool NotifySocket::has_line_starting_with(const std::string& beginning) const {
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
