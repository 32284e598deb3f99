#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace inboxd::support {

/// A fake schema registry on a port of 127.0.0.1: answers paths that were set, all others as a registry answers for an
/// unknown schema. A single request at a time.
class FakeRegistry final {
 public:
  FakeRegistry();
  ~FakeRegistry();
  FakeRegistry(const FakeRegistry&) = delete;
  FakeRegistry& operator=(const FakeRegistry&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  /// Registers an Avro schema under a number and a subject. `references`: JSON as the registry's API gives it.
  void add_schema(int id, const std::string& schema, const std::string& subject = "orders-value",
                  const std::string& references = "[]");
  void set(const std::string& path, int status, const std::string& body);
  /// All requests get this status; 0: as set. -1: no answer, the connection stays open.
  void answer_all(int status) { status_of_all_ = status; }
  /// Refuses connections.
  void stop();
  /// Listens again, at the same port.
  void start();

  /// The requests for a path.
  int requests(const std::string& path) const;
  int requests() const;
  /// The head of the last request.
  std::string last_head() const;

 private:
  struct Answer {
    int status = 200;
    std::string body;
  };
  void listen();
  void run();
  void serve(int connection);

  int socket_ = -1;
  int port_ = 0;
  std::atomic<int> status_of_all_{0};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<std::string> heads_;
  std::vector<int> left_open_;
  std::thread thread_;
};

}  // namespace inboxd::support
