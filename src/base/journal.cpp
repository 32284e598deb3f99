#include "base/journal.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/mutex.hpp"
#include "base/text.hpp"

namespace inboxd::base {
namespace {

constexpr int write_timeout_ms = 200;
/// An entry has a dozen fields at most, and a datagram takes 200 KiB.
constexpr std::size_t value_limit = 8 << 10;
constexpr std::size_t name_limit = 64;

}  // namespace

Journal::~Journal() { close(); }

bool Journal::connect() {
  if (socket_ >= 0) return true;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  socket_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ >= 0 && ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  close();
  return false;
}

void Journal::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

Journal::Sent Journal::send(std::string_view entry) {
  const Lock lock{mutex_};
  bool was_closed = false;
  while (connect()) {
    if (::send(socket_, entry.data(), entry.size(), MSG_NOSIGNAL) >= 0) {
      is_slow_ = false;
      return Sent::yes;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN && !is_slow_) {
      pollfd writable{socket_, POLLOUT, 0};
      is_slow_ = ::poll(&writable, 1, write_timeout_ms) <= 0;
      continue;
    }
    if (errno == EAGAIN || was_closed) {
      ++lost_;
      return Sent::lost;
    }
    // journald may have restarted: connect once more.
    was_closed = true;
    close();
  }
  return Sent::nobody_listens;
}

void JournalEntry::add(std::string_view name, std::string_view value) {
  std::string fitting{name.substr(0, name_limit)};
  std::transform(fitting.begin(), fitting.end(), fitting.begin(), [](char c) {
    if (c >= 'a' && c <= 'z') return static_cast<char>(c - 'a' + 'A');
    const bool fits = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return fits ? c : '_';
  });
  bytes_.append(fitting)
      .append("=")
      .append(shorten(escape_controls(shorten(value, value_limit)), value_limit))
      .append("\n");
}

}  // namespace inboxd::base
