#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace inboxd::support {

/// A fake trace collector: accepts requests, a single request at a time, on a port of 127.0.0.1 and answers as
/// configured.
class Collector final {
 public:
  Collector();
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  struct Request {
    std::string head;
    std::string body;
  };

  int port() const { return port_; }
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/traces"; }
  std::vector<Request> requests() const;
  /// Counts a text in all request bodies.
  int count(std::string_view text) const;

  /// Sets the status and delay of the next answers; 0: no answer, the connection stays open.
  void answer(int status, std::chrono::milliseconds after = {}) {
    after_ = after;
    status_ = status;
  }
  void answer_with(std::string body);
  /// Answers with these raw bytes.
  void say(std::string bytes);
  void leave_open() { leaves_open_ = true; }

 private:
  void run();
  void serve(int connection);
  std::string answer_of(int status) const;

  int socket_ = -1;
  int port_ = 0;
  std::atomic<int> status_{200};
  std::atomic<std::chrono::milliseconds> after_{};
  std::atomic<bool> leaves_open_{false};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::string body_ = "{}";
  std::optional<std::string> instead_;
  std::vector<Request> requests_;
  std::vector<int> left_open_;
  std::thread thread_;
};

}  // namespace inboxd::support
