#include "admin/http_client.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>

#include "admin/gate.hpp"
#include "admin/listener.hpp"

namespace inboxd::admin {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t largest_answer = 64 << 20;

/// One exchange; every wait ends at the same time.
class Exchange final {
 public:
  explicit Exchange(Clock::time_point end) : end_{end} {}

  bool connect(int family, const sockaddr* address, socklen_t length) {
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

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto count = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count < 0 && errno != EAGAIN) return fail(errno);
      if (count > 0)
        bytes.remove_prefix(static_cast<std::size_t>(count));
      else if (!wait(POLLOUT))
        return false;
    }
    return true;
  }

  /// Everything until the other side ends it.
  bool receive(std::string& out) {
    std::array<char, 16 << 10> buffer;
    while (out.size() < largest_answer) {
      const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (count == 0) return true;
      if (count < 0 && errno != EAGAIN) return fail(errno);
      if (count > 0)
        out.append(buffer.data(), static_cast<std::size_t>(count));
      else if (!wait(POLLIN))
        return false;
    }
    return fail(EMSGSIZE);
  }

  const std::string& problem() const { return problem_; }

 private:
  bool wait(short events) {
    pollfd polled{socket_.get(), events, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end_ - Clock::now());
    return ::poll(&polled, 1, std::max(static_cast<int>(left.count()), 0)) > 0 || fail(ETIMEDOUT);
  }
  bool fail(int error) {
    problem_ = std::generic_category().message(error);
    return false;
  }

  Clock::time_point end_;
  Socket socket_;
  std::string problem_;
};

bool connect_to_socket(Exchange& exchange, const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return exchange.connect(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

bool connect_to_port(Exchange& exchange, const std::string& host, const std::string& port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned{found, ::freeaddrinfo};
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (exchange.connect(one->ai_family, one->ai_addr, one->ai_addrlen)) return true;
  }
  return false;
}

/// What listens on every address is asked on this machine's own.
std::string reachable(const std::string& host) {
  if (host == "0.0.0.0") return "127.0.0.1";
  return host == "::" ? "::1" : host;
}

std::optional<HttpResponse> parsed(const std::string& bytes) {
  HttpResponse out;
  const auto end = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || end == std::string::npos) return std::nullopt;
  std::from_chars(bytes.data() + 9, bytes.data() + std::min<std::size_t>(12, bytes.size()), out.status);
  std::size_t at = bytes.find("\r\n") + 2;
  while (at < end + 2) {
    const auto line_end = bytes.find("\r\n", at);
    const std::string line = bytes.substr(at, line_end - at);
    if (const auto colon = line.find(": "); colon != std::string::npos) {
      std::string name = line.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      out.headers.emplace_back(std::move(name), line.substr(colon + 2));
    }
    at = line_end + 2;
  }
  out.body = bytes.substr(end + 4);
  return out;
}

}  // namespace

base::Result<HttpResponse> ask(const config::Admin& settings, const Question& question,
                               std::chrono::milliseconds timeout) {
  if (settings.is_off()) return base::Problem{"the admin port is off (admin.listen); nobody can be asked"};
  Exchange exchange{Clock::now() + timeout};
  const bool by_socket = !settings.socket.empty();
  const std::string where = by_socket ? settings.socket : settings.listen;
  const auto [host, port] = split_address(settings.listen);
  std::string request =
      question.method + " " + question.target + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  if (!settings.token.empty()) request += "Authorization: Bearer " + settings.token.reveal() + "\r\n";
  if (!question.actor.empty()) request += std::string{actor_header} + ": " + question.actor + "\r\n";
  if (question.method != "GET") {
    request += "Content-Type: application/json\r\nContent-Length: " + std::to_string(question.body.size()) + "\r\n";
  }
  request += "\r\n" + question.body;
  std::string answer;
  const bool done =
      (by_socket ? connect_to_socket(exchange, where) : connect_to_port(exchange, reachable(host), port)) &&
      exchange.send(request) && exchange.receive(answer);
  if (!done) {
    return base::Problem{"no daemon answers at " + where + (exchange.problem().empty() ? "" : ": ") +
                         exchange.problem()};
  }
  auto response = parsed(answer);
  if (!response) return base::Problem{"what answers at " + where + " is no inboxd"};
  return std::move(*response);
}

std::string encoded(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '_' || c == '.' || c == '~';
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain)
      out += c;
    else
      out.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return out;
}

}  // namespace inboxd::admin
