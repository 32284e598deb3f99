#include "support/collector.hpp"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>

namespace inboxd::support {
namespace {

std::size_t body_size(const std::string& head) {
  const auto at = head.find("Content-Length: ");
  return at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
}

}  // namespace

Collector::Collector() : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || ::listen(socket_, 64) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    throw std::runtime_error{"a collector cannot listen"};
  }
  port_ = ntohs(address.sin_port);
  thread_ = std::thread{[this] { run(); }};
}

Collector::~Collector() {
  stopping_ = true;
  thread_.join();
  for (const int connection : left_open_) ::close(connection);
  ::close(socket_);
}

std::vector<Collector::Request> Collector::requests() const {
  const std::lock_guard lock{mutex_};
  return requests_;
}

int Collector::count(std::string_view text) const {
  int out = 0;
  for (const Request& request : requests()) {
    for (auto at = request.body.find(text); at != std::string::npos; at = request.body.find(text, at + 1)) ++out;
  }
  return out;
}

void Collector::answer_with(std::string body) {
  const std::lock_guard lock{mutex_};
  body_ = std::move(body);
}

void Collector::say(std::string bytes) {
  const std::lock_guard lock{mutex_};
  instead_ = std::move(bytes);
}

void Collector::run() {
  while (!stopping_) {
    pollfd polled{socket_, POLLIN, 0};
    if (::poll(&polled, 1, 20) <= 0) continue;
    const int connection = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) serve(connection);
  }
}

void Collector::serve(int connection) {
  std::string bytes;
  std::array<char, 1 << 16> buffer;
  std::size_t end = std::string::npos;
  while (end == std::string::npos || bytes.size() < end + 4 + body_size(bytes.substr(0, end))) {
    pollfd polled{connection, POLLIN, 0};
    const auto count = ::poll(&polled, 1, 1'000) > 0 ? ::recv(connection, buffer.data(), buffer.size(), 0) : 0;
    if (count <= 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    end = bytes.find("\r\n\r\n");
  }
  if (end != std::string::npos) {
    const std::lock_guard lock{mutex_};
    requests_.push_back({bytes.substr(0, end), bytes.substr(end + 4)});
  }
  std::this_thread::sleep_for(after_.load());
  const int status = status_;
  if (status == 0) {
    left_open_.push_back(connection);
    return;
  }
  const std::string answer = answer_of(status);
  static_cast<void>(::send(connection, answer.data(), answer.size(), MSG_NOSIGNAL));
  if (leaves_open_)
    left_open_.push_back(connection);
  else
    ::close(connection);
}

std::string Collector::answer_of(int status) const {
  const std::lock_guard lock{mutex_};
  if (instead_) return *instead_;
  return "HTTP/1.1 " + std::to_string(status) +
         " So\r\nContent-Type: application/json\r\ncontent-length: " + std::to_string(body_.size()) + "\r\n\r\n" +
         body_;
}

}  // namespace inboxd::support
