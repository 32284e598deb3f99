#include "admin/listener.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

namespace inboxd::admin {
namespace {

constexpr int backlog = 512;

std::string reason(int error) { return std::generic_category().message(error); }

bool is_loopback(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(in.sin_addr.s_addr) >> 24 == 127;
  }
  const auto& in = reinterpret_cast<const sockaddr_in6&>(address);
  if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) return in.sin6_addr.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&in.sin6_addr);
}

Peer peer_of(const sockaddr_storage& address, socklen_t length) {
  std::array<char, NI_MAXHOST> host{};
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host.data(), host.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
    return {false, "an unknown address"};
  }
  return {is_loopback(address), host.data()};
}

Peer peer_of_unix(int descriptor) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return {true, "a local user"};
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  const bool has_name =
      ::getpwuid_r(credentials.uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr;
  return {true, has_name ? found->pw_name : "uid " + std::to_string(credentials.uid)};
}

sockaddr_un unix_address(const std::string& path) {
  sockaddr_un out{};
  out.sun_family = AF_UNIX;
  std::memcpy(out.sun_path, path.data(), std::min(path.size(), sizeof out.sun_path - 1));
  return out;
}

/// Whether a process listens at the path.
bool is_alive(const sockaddr_un& address) {
  const Socket probe{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 || errno == EAGAIN;
}

/// `[::1]:9470` as host and port.
std::pair<std::string, std::string> split_address(const std::string& host_and_port) {
  const auto colon = host_and_port.rfind(':');
  std::string host = host_and_port.substr(0, colon);
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {host, host_and_port.substr(colon + 1)};
}

ListenProblem cannot(const std::string& where, int error) {
  return {"cannot listen on " + where + ": " + reason(error), error == EADDRINUSE || error == EADDRNOTAVAIL};
}

}  // namespace

Listener::Listener(Socket socket, std::string where, std::string file)
    : socket_{std::move(socket)}, where_{std::move(where)}, file_{std::move(file)} {}

Listener::~Listener() {
  if (socket_ && !file_.empty()) ::unlink(file_.c_str());
}

std::pair<Socket, Peer> Listener::accept() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  Socket socket{::accept4(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length, SOCK_NONBLOCK | SOCK_CLOEXEC)};
  if (!socket) return {Socket{}, Peer{}};
  if (is_unix()) {
    Peer peer = peer_of_unix(socket.get());
    return {std::move(socket), std::move(peer)};
  }
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {std::move(socket), peer_of(address, length)};
}

std::variant<std::vector<Listener>, ListenProblem> listen_on(const std::string& host_and_port) {
  const auto [host, port] = split_address(host_and_port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return ListenProblem{"cannot listen on " + host_and_port + ": " + ::gai_strerror(error)};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned{found, ::freeaddrinfo};
  std::vector<Listener> out;
  ListenProblem problem{"cannot listen on " + host_and_port};
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Socket socket{::socket(one->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    const int on = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (one->ai_family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    if (!socket || ::bind(socket.get(), one->ai_addr, one->ai_addrlen) != 0 || ::listen(socket.get(), backlog) != 0) {
      problem = cannot(host_and_port, errno);
      // A name such as localhost may have an address that this machine lacks: one that works is enough.
      if (errno == EADDRINUSE) return problem;
      continue;
    }
    out.emplace_back(std::move(socket), host_and_port, "");
  }
  if (out.empty()) return problem;
  return out;
}

std::variant<std::vector<Listener>, ListenProblem> listen_at(const std::string& path) {
  const sockaddr_un address = unix_address(path);
  struct stat about {};
  if (::lstat(path.c_str(), &about) == 0 && S_ISSOCK(about.st_mode)) {
    if (is_alive(address)) return ListenProblem{"cannot listen on " + path + ": another process does", true};
    ::unlink(path.c_str());
  }
  Socket socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
  // No client can connect before listen(), so the rights are never too wide.
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0660) != 0 || ::listen(socket.get(), backlog) != 0) {
    return cannot(path, errno);
  }
  std::vector<Listener> out;
  out.emplace_back(std::move(socket), path, path);
  return out;
}

Wake::Wake() : socket_{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)} {}

void Wake::notify() const {
  const std::uint64_t one = 1;
  static_cast<void>(!::write(socket_.get(), &one, sizeof one));
}

void Wake::clear() const {
  std::uint64_t count = 0;
  static_cast<void>(!::read(socket_.get(), &count, sizeof count));
}

}  // namespace inboxd::admin
