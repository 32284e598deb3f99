#include "http_service.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "topic.hpp"

namespace inboxd::bench {
namespace {

constexpr std::string_view ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

void watch(int poll, int descriptor) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = descriptor;
  if (epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) != 0) throw std::runtime_error{"epoll_ctl failed"};
}

std::size_t content_length(std::string_view head) {
  constexpr std::string_view name = "\r\ncontent-length:";
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    if (head.size() - at > name.size() && strncasecmp(head.data() + at, name.data(), name.size()) == 0) {
      return std::strtoul(head.data() + at + name.size(), nullptr, 10);
    }
  }
  return 0;
}

}  // namespace

HttpService::HttpService()
    : listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)},
      poll_{epoll_create1(EPOLL_CLOEXEC)},
      stop_{eventfd(0, EFD_CLOEXEC)} {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (bind(listener_, any, size) != 0 || listen(listener_, 512) != 0 || getsockname(listener_, any, &size) != 0) {
    throw std::runtime_error{"the service cannot listen"};
  }
  port_ = ntohs(address.sin_port);
  watch(poll_, listener_);
  watch(poll_, stop_);
  thread_ = std::thread{[this] { run(); }};
}

HttpService::~HttpService() {
  eventfd_write(stop_, 1);
  thread_.join();
  for (const auto& [connection, buffer] : buffers_) close(connection);
  close(listener_);
  close(poll_);
  close(stop_);
}

void HttpService::run() {
  std::array<epoll_event, 256> events{};
  for (;;) {
    const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = events.at(static_cast<std::size_t>(i)).data.fd;
      if (descriptor == stop_) return;
      if (descriptor == listener_) {
        accept_all();
      } else if (!read_some(descriptor)) {
        buffers_.erase(descriptor);
        close(descriptor);
      }
    }
  }
}

void HttpService::accept_all() {
  for (;;) {
    const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection < 0) return;
    const int on = 1;
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    buffers_[connection];
    watch(poll_, connection);
  }
}

/// False: the connection is over.
bool HttpService::read_some(int connection) {
  std::array<char, 65536> some{};
  const ssize_t size = read(connection, some.data(), some.size());
  if (size <= 0) return size < 0 && errno == EAGAIN;
  std::string& buffer = buffers_[connection];
  buffer.append(some.data(), static_cast<std::size_t>(size));
  return answer_all(connection, buffer);
}

bool HttpService::answer_all(int connection, std::string& buffer) {
  for (;;) {
    const std::size_t end = buffer.find("\r\n\r\n");
    if (end == std::string::npos) return true;
    const std::size_t length = content_length({buffer.data(), end + 2});
    if (buffer.size() < end + 4 + length) return true;
    const std::string_view body{buffer.data() + end + 4, length};
    if (const auto took = microseconds_since_sending(body)) latencies_.push_back(*took);
    ++requests_;
    buffer.erase(0, end + 4 + length);
    if (write(connection, ok.data(), ok.size()) != static_cast<ssize_t>(ok.size())) return false;
  }
}

}  // namespace inboxd::bench
