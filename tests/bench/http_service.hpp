#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace inboxd::bench {

/// A service on 127.0.0.1 that answers each POST with 200 and no body: HTTP/1.1, keep-alive, a single thread. Notes how
/// long each body that begins with its time of sending was on the way.
class HttpService final {
 public:
  HttpService();
  ~HttpService();
  HttpService(const HttpService&) = delete;
  HttpService& operator=(const HttpService&) = delete;

  int port() const { return port_; }
  std::int64_t requests() const { return requests_; }
  /// Microseconds, in the order of arrival. After the last request.
  const std::vector<std::uint32_t>& latencies() const { return latencies_; }

 private:
  void run();
  void accept_all();
  bool read_some(int connection);
  bool answer_all(int connection, std::string& buffer);

  int listener_ = -1, poll_ = -1, stop_ = -1;
  int port_ = 0;
  std::atomic<std::int64_t> requests_{0};
  std::vector<std::uint32_t> latencies_;
  std::unordered_map<int, std::string> buffers_;  ///< by connection
  std::thread thread_;
};

}  // namespace inboxd::bench
