#include "support/proxy.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

constexpr std::size_t read_size = 64 * 1024;
constexpr std::size_t max_waiting = 4 << 20;  ///< bytes in a direction before the sender has to wait

sockaddr_in address_of(int port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(static_cast<std::uint16_t>(port));
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = address_of(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

void prepare(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

template <class Chunks>
std::size_t waiting(const Chunks& chunks) {
  std::size_t out = 0;
  for (const auto& chunk : chunks) out += chunk.bytes.size();
  return out;
}

/// PostgreSQL's answer is complete at ReadyForQuery.
bool is_ready_for_query(const std::string& answer) {
  static const std::string ready{"Z\0\0\0\5", 5};
  return answer.size() >= 6 && answer.compare(answer.size() - 6, 5, ready) == 0;
}

}  // namespace

std::string Proxy::executes(const std::string& statement) {
  return std::string{"\0", 1} + statement + std::string{"\0", 1};
}

Proxy::Proxy(int target_port, int port) : target_port_{target_port}, port_{port != 0 ? port : free_port()} {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const sockaddr_in address = address_of(port_);
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener_, 64) != 0 ||
      pipe2(wake_, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::runtime_error{"the proxy cannot listen"};
  }
  thread_ = std::thread{[this] { run(); }};
}

Proxy::~Proxy() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake();
  thread_.join();
  for (Connection& pair : pairs_) close_pair(pair);
  for (const int fd : {listener_, wake_[0], wake_[1]}) close(fd);
}

void Proxy::wake() { [[maybe_unused]] const auto written = write(wake_[1], "", 1); }

void Proxy::cut() {
  {
    const std::lock_guard lock{mutex_};
    for (Connection& pair : pairs_) close_pair(pair);
  }
  wake();
}

void Proxy::refuse(bool on) {
  const std::lock_guard lock{mutex_};
  refusing_ = on;
}

void Proxy::freeze(bool on) {
  {
    const std::lock_guard lock{mutex_};
    frozen_ = on;
  }
  wake();
}

void Proxy::hold_open_connections() {
  {
    const std::lock_guard lock{mutex_};
    for (Connection& pair : pairs_) pair.held = true;
  }
  wake();
}

void Proxy::delay(milliseconds time) {
  const std::lock_guard lock{mutex_};
  delay_ = time;
}

void Proxy::corrupt(std::string bytes) {
  const std::lock_guard lock{mutex_};
  corrupt_bytes_ = std::move(bytes);
}

void Proxy::cut_at(std::string bytes, Cut when, int times, int skip) {
  const std::lock_guard lock{mutex_};
  cut_rule_ = CutRule{std::move(bytes), when, times, skip};
}

int Proxy::cuts() const {
  const std::lock_guard lock{mutex_};
  return cuts_;
}

int Proxy::connections() const {
  const std::lock_guard lock{mutex_};
  return static_cast<int>(
      std::count_if(pairs_.begin(), pairs_.end(), [](const Connection& pair) { return !pair.done; }));
}

int Proxy::accepted() const {
  const std::lock_guard lock{mutex_};
  return accepted_;
}

void Proxy::run() {
  std::unique_lock lock{mutex_};
  while (!stopping_) {
    pairs_.remove_if([](const Connection& pair) { return pair.done; });
    // Leave out frozen sockets, which would be ready all the time: poll ignores negative descriptors.
    const auto watched = [&](int socket) { return frozen_ ? -1 : socket; };
    std::vector<pollfd> polled{{watched(listener_), POLLIN, 0}, {wake_[0], POLLIN, 0}};
    std::vector<Connection*> order;
    const std::int64_t now = monotonic_ms();
    int timeout = 100;
    for (Connection& pair : pairs_) {
      const auto events = [&](const std::deque<Chunk>& in, const std::deque<Chunk>& out) {
        short wanted = waiting(in) < max_waiting ? POLLIN : 0;
        if (!out.empty() && out.front().due_ms <= now) wanted = static_cast<short>(wanted | POLLOUT);
        if (!out.empty() && out.front().due_ms > now) timeout = std::min<int>(timeout, out.front().due_ms - now);
        return wanted;
      };
      if (pair.held) continue;
      polled.push_back({watched(pair.client), events(pair.to_server, pair.to_client), 0});
      polled.push_back({watched(pair.server), events(pair.to_client, pair.to_server), 0});
      order.push_back(&pair);
    }
    lock.unlock();
    poll(polled.data(), polled.size(), timeout);
    std::array<char, 64> drained{};
    while (read(wake_[0], drained.data(), drained.size()) > 0) {
    }
    lock.lock();
    if (frozen_) continue;
    for (std::size_t i = 0; i < order.size(); ++i) {
      Connection& pair = *order[i];
      if (!pair.done && (polled[2 + 2 * i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) from_client(pair);
      if (!pair.done && (polled[3 + 2 * i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) from_server(pair);
      if (!pair.done) flush(pair, monotonic_ms());
    }
    if ((polled[0].revents & POLLIN) != 0) accept_one();
  }
}

void Proxy::accept_one() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  ++accepted_;
  const int server = refusing_ ? -1 : connect_to(target_port_);
  if (server < 0) {
    close(client);
    return;
  }
  prepare(client);
  prepare(server);
  Connection& pair = pairs_.emplace_back();
  pair.client = client;
  pair.server = server;
}

void Proxy::from_client(Connection& pair) {
  std::string bytes(read_size, '\0');
  const auto size = recv(pair.client, bytes.data(), bytes.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return end_pair(pair);
  bytes.resize(static_cast<std::size_t>(size));
  if (must_cut(pair, bytes)) return close_pair(pair);
  pair.to_server.push_back({monotonic_ms() + delay_.count(), std::move(bytes)});
}

bool Proxy::must_cut(Connection& pair, const std::string& bytes) {
  if (!cut_rule_) return false;
  pair.seen += bytes;
  const bool found = pair.seen.find(cut_rule_->bytes) != std::string::npos;
  const auto kept = found ? 0 : std::min(pair.seen.size(), cut_rule_->bytes.size() - 1);
  pair.seen.erase(0, pair.seen.size() - kept);
  if (!found || pair.pending_cut || cut_rule_->skip-- > 0) return false;
  const Cut when = cut_rule_->when;
  if (--cut_rule_->times == 0) cut_rule_.reset();
  if (when == Cut::before) {
    ++cuts_;
    return true;
  }
  pair.pending_cut = when;
  return false;
}

void Proxy::from_server(Connection& pair) {
  std::string bytes(read_size, '\0');
  const auto size = recv(pair.server, bytes.data(), bytes.size(), 0);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return end_pair(pair);
  bytes.resize(static_cast<std::size_t>(size));
  for (auto at = bytes.find(corrupt_bytes_); !corrupt_bytes_.empty() && at != std::string::npos;
       at = bytes.find(corrupt_bytes_, at + 1)) {
    bytes[at + corrupt_bytes_.size() - 1] ^= 1;
  }
  if (!pair.pending_cut) {
    pair.to_client.push_back({monotonic_ms() + delay_.count(), std::move(bytes)});
    return;
  }
  pair.answer += bytes;
  if (!is_ready_for_query(pair.answer)) return;
  ++cuts_;
  if (pair.pending_cut == Cut::after) close_pair(pair);
}

void Proxy::flush(Connection& pair, std::int64_t now) {
  const auto send_due = [&](int fd, std::deque<Chunk>& chunks) {
    while (!chunks.empty() && chunks.front().due_ms <= now) {
      std::string& bytes = chunks.front().bytes;
      const auto sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EINTR;
      bytes.erase(0, static_cast<std::size_t>(sent));
      if (bytes.empty()) chunks.pop_front();
    }
    return true;
  };
  if (!send_due(pair.server, pair.to_server) || !send_due(pair.client, pair.to_client)) close_pair(pair);
}

/// The other side still gets the rest.
void Proxy::end_pair(Connection& pair) {
  flush(pair, std::numeric_limits<std::int64_t>::max());
  if (pair.done) return;
  close(pair.client);
  close(pair.server);
  pair.done = true;
}

/// Resets both sides at once, like a broken network.
void Proxy::close_pair(Connection& pair) {
  if (pair.done) return;
  const linger at_once{1, 0};
  for (const int fd : {pair.client, pair.server}) {
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
  }
  pair.done = true;
}

}  // namespace inboxd::support
