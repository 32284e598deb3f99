#include "support/http.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <stdexcept>

namespace inboxd::support {
namespace {

std::string bytes_of(const HttpQuestion& question) {
  std::string out = question.method + " " + question.target + " HTTP/1.1\r\n";
  bool has_host = false;
  for (const std::string& header : question.headers) {
    out += header + "\r\n";
    has_host = has_host || header.starts_with("Host:");
  }
  if (!has_host) out += "Host: localhost\r\n";
  if (!question.body.empty()) out += "Content-Length: " + std::to_string(question.body.size()) + "\r\n";
  return out + "\r\n" + question.body;
}

}  // namespace

RawConnection::RawConnection(int port, const std::string& from)
    : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_in own{};
  own.sin_family = AF_INET;
  const int on = 1;  // choose the port at connect, so that many connections can share it
  ::setsockopt(socket_, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (::inet_pton(AF_INET, from.c_str(), &own.sin_addr) != 1 ||
      ::bind(socket_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    ::close(socket_);
    throw std::runtime_error{from + " is no address of this machine"};
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error{"no process listens on port " + std::to_string(port)};
  }
}

RawConnection::RawConnection(const std::string& unix_socket)
    : socket_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, unix_socket.data(), std::min(unix_socket.size(), sizeof address.sun_path - 1));
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    ::close(socket_);
    throw std::runtime_error{"no process listens at " + unix_socket};
  }
}

RawConnection::~RawConnection() { ::close(socket_); }

bool RawConnection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

bool RawConnection::read_more(std::int64_t until) {
  pollfd polled{socket_, POLLIN, 0};
  const auto left = std::max<std::int64_t>(until - monotonic_ms(), 0);
  if (::poll(&polled, 1, static_cast<int>(left)) <= 0) throw std::runtime_error{"no answer in time"};
  std::array<char, 1 << 16> buffer;
  const auto count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count <= 0) return false;
  buffer_.append(buffer.data(), static_cast<std::size_t>(count));
  return true;
}

HttpAnswer RawConnection::receive(milliseconds within, bool has_body) {
  const auto until = monotonic_ms() + within.count();
  auto end = buffer_.find("\r\n\r\n");
  while (end == std::string::npos) {
    if (!read_more(until)) return {};
    end = buffer_.find("\r\n\r\n");
  }
  HttpAnswer out;
  out.status = std::stoi(buffer_.substr(9, 3));
  std::size_t at = buffer_.find("\r\n") + 2;
  while (at < end + 2) {
    const auto line_end = buffer_.find("\r\n", at);
    const std::string line = buffer_.substr(at, line_end - at);
    std::string name = line.substr(0, line.find(':'));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto value = line.find_first_not_of(' ', line.find(':') + 1);
    out.headers[name] = value == std::string::npos ? "" : line.substr(value);
    at = line_end + 2;
  }
  const std::size_t size =
      has_body && out.headers.contains("content-length") ? std::stoul(out.headers["content-length"]) : 0;
  while (buffer_.size() < end + 4 + size) {
    if (!read_more(until)) break;
  }
  out.body = buffer_.substr(end + 4, size);
  buffer_.erase(0, end + 4 + size);
  return out;
}

bool RawConnection::ends(milliseconds within) {
  const auto until = monotonic_ms() + within.count();
  try {
    while (read_more(until)) buffer_.clear();
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

HttpAnswer ask(int port, const HttpQuestion& question, milliseconds within) {
  RawConnection connection{port};
  connection.send(bytes_of(question));
  return connection.receive(within, question.method != "HEAD");
}

HttpAnswer get(int port, const std::string& target, const std::vector<std::string>& headers) {
  return ask(port, {.target = target, .headers = headers});
}

HttpAnswer post(int port, const std::string& target, const std::string& body, const std::vector<std::string>& headers) {
  return ask(port, {.method = "POST", .target = target, .headers = headers, .body = body});
}

double gauge(int port, const std::string& name_and_labels) {
  const std::string text = get(port, "/metrics").body;
  const auto at = text.find("\n" + name_and_labels + " ");
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name_and_labels.size() + 2));
}

}  // namespace inboxd::support
