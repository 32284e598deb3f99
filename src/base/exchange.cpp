#include "base/exchange.hpp"

#include <poll.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace inboxd::base {

bool Exchange::connect(int family, const sockaddr* address, socklen_t length) {
  socket_ = Socket{::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  if (!socket_) return fail(errno);
  if (::connect(socket_.get(), address, length) == 0) return true;
  if (errno != EINPROGRESS) return fail(errno);
  if (!wait(POLLOUT)) return false;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error == 0 || fail(error);
}

bool Exchange::connect_to_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

bool Exchange::connect_to_port(const std::string& host, const std::string& port) {
  const auto addresses = look_up(host, port, end_);
  if (!addresses) {
    problem_ = addresses.problem().message;
    return false;
  }
  return connect_to(addresses.value());
}

bool Exchange::connect_to(const std::vector<Address>& addresses) {
  for (const Address& one : addresses) {
    if (connect(one.family, reinterpret_cast<const sockaddr*>(&one.bytes), one.length)) return true;
  }
  return false;
}

bool Exchange::send(std::string_view bytes, bool more_follows) {
  const int flags = MSG_NOSIGNAL | (more_follows ? MSG_MORE : 0);
  while (!bytes.empty()) {
    const auto count = ::send(socket_.get(), bytes.data(), bytes.size(), flags);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return fail(errno);
    if (count > 0)
      bytes.remove_prefix(static_cast<std::size_t>(count));
    else if (!wait(POLLOUT))
      return false;
  }
  return true;
}

bool Exchange::receive(std::string& out, bool (*is_whole)(std::string_view)) {
  std::array<char, 16 << 10> buffer;
  while (out.size() < largest_) {
    const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (count == 0) return true;
    if (count < 0 && errno != EAGAIN && errno != EINTR) return fail(errno);
    if (count > 0)
      out.append(buffer.data(), static_cast<std::size_t>(count));
    else if (!wait(POLLIN))
      return false;
    if (is_whole != nullptr && is_whole(out)) return true;
  }
  return fail(EMSGSIZE);
}

bool Exchange::wait(short events) {
  pollfd polled{socket_.get(), events, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
  return ::poll(&polled, 1, std::max(static_cast<int>(left.count()), 0)) > 0 || fail(ETIMEDOUT);
}

bool Exchange::fail(int error) {
  problem_ = std::generic_category().message(error);
  return false;
}

std::pair<std::string, std::string> split_address(const std::string& host_and_port) {
  const auto colon = host_and_port.rfind(':');
  std::string host = host_and_port.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {host, host_and_port.substr(colon + 1)};
}

}  // namespace inboxd::base
