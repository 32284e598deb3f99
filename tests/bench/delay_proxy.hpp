#pragma once
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

namespace inboxd::bench {

/// A TCP proxy to a port of 127.0.0.1 that delays every byte by `delay` in each direction. Bandwidth is not limited.
class DelayProxy final {
 public:
  DelayProxy(int target_port, std::chrono::microseconds delay);
  ~DelayProxy();
  DelayProxy(const DelayProxy&) = delete;
  DelayProxy& operator=(const DelayProxy&) = delete;

  int port() const { return port_; }

 private:
  void accept_all();
  void connect_through(int client);

  const int target_port_;
  const std::chrono::microseconds delay_;
  int listener_ = -1;
  int port_ = 0;
  std::mutex mutex_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace inboxd::bench
