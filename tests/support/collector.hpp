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

/// A stand-in for a collector of traces: takes requests on a port of 127.0.0.1, one after the other, and answers as
/// told.
class Collector final {
 public:
  Collector();
  ~Collector();
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  struct Request {
    std::string head;  ///< request line and headers
    std::string body;
  };

  int port() const { return port_; }
  std::string endpoint() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1/traces"; }
  std::vector<Request> requests() const;
  /// How often a text was in the bodies so far.
  int count(std::string_view text) const;

  /// The status of the answers from now on, each after that time; 0: none at all, the connection stays open.
  void answer(int status, std::chrono::milliseconds after = {}) {
    after_ = after;
    status_ = status;
  }
  /// The body of the answers.
  void answer_with(std::string body);
  /// Says this instead of any answer of HTTP.
  void say(std::string bytes);
  /// Ends no connection by itself, though it answers.
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
  mutable std::mutex mutex_;  // guards the following
  std::string body_ = "{}";
  std::optional<std::string> instead_;
  std::vector<Request> requests_;
  std::vector<int> left_open_;  ///< the thread's own
  std::thread thread_;
};

}  // namespace inboxd::support
