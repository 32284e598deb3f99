#include "delay_proxy.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "queue.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t read_bytes = 256 * 1024;
constexpr std::size_t chunks_under_way = 4096;

struct Chunk {
  Clock::time_point due;
  std::string bytes;
};

sockaddr_in local(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void send_at_once(int socket) {
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/// Reads until the end of the stream and stamps each chunk.
void read_all(int from, std::chrono::microseconds delay, Queue<Chunk>& chunks) {
  std::string buffer(read_bytes, '\0');
  while (true) {
    const ssize_t count = recv(from, buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    chunks.put({Clock::now() + delay, buffer.substr(0, static_cast<std::size_t>(count))});
  }
  chunks.close();
}

/// Writes chunks when they are due; drops them if the peer is gone.
void write_all(int to, Queue<Chunk>& chunks) {
  while (true) {
    auto taken = chunks.take(1);
    if (taken.empty()) break;
    const Chunk& chunk = taken.front();
    std::this_thread::sleep_until(chunk.due);
    for (std::size_t done = 0; done < chunk.bytes.size();) {
      const ssize_t count = send(to, chunk.bytes.data() + done, chunk.bytes.size() - done, MSG_NOSIGNAL);
      if (count <= 0) break;
      done += static_cast<std::size_t>(count);
    }
  }
  shutdown(to, SHUT_WR);
}

void pump(int from, int to, std::chrono::microseconds delay) {
  Queue<Chunk> chunks{chunks_under_way};
  std::thread reader{[&] { read_all(from, delay, chunks); }};
  write_all(to, chunks);
  reader.join();
}

}  // namespace

DelayProxy::DelayProxy(int target_port, std::chrono::microseconds delay)
    : target_port_{target_port}, delay_{delay}, listener_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
  sockaddr_in address = local(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    close(listener_);
    throw std::runtime_error{"the delaying proxy cannot listen"};
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread{[this] { accept_all(); }};
}

DelayProxy::~DelayProxy() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock{mutex_};
    for (const int socket : sockets_) shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) close(socket);
  close(listener_);
}

void DelayProxy::accept_all() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    connect_through(client);
  }
}

void DelayProxy::connect_through(int client) {
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = local(target_port_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(server);
    close(client);
    return;
  }
  send_at_once(client);
  send_at_once(server);
  const std::lock_guard lock{mutex_};
  sockets_.push_back(client);
  sockets_.push_back(server);
  threads_.emplace_back([this, client, server] { pump(client, server, delay_); });
  threads_.emplace_back([this, client, server] { pump(server, client, delay_); });
}

}  // namespace inboxd::bench
