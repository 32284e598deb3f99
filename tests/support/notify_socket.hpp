#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/environment.hpp"

namespace inboxd::support {

/// A stand-in for systemd's notification socket. Any thread.
class NotifySocket final {
 public:
  NotifySocket();
  ~NotifySocket();
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  /// For $NOTIFY_SOCKET.
  std::string path() const { return (folder_ / "notify").string(); }
  /// How often a line such as READY=1 came.
  int count(const std::string& line) const;
  /// Whether a line came that begins so.
  bool has_begun_with(const std::string& beginning) const;
  /// All lines, in their order.
  std::vector<std::string> lines() const;

 private:
  void run();

  TempFolder folder_;
  int socket_ = -1;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace inboxd::support
