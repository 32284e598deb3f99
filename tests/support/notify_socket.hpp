#pragma once
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/test_environment.hpp"

namespace inboxd::support {

/// A fake of systemd's notification socket. Any thread.
class NotifySocket final {
 public:
  NotifySocket();
  ~NotifySocket();
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  /// Stops reading and fills the socket: sending to it blocks. Same thread as resume_reading().
  void stop_reading();
  /// Reads again, first the lines FILL=1 that filled it.
  void resume_reading();

  std::string path() const { return (folder_ / "notify").string(); }
  /// Counts a line such as READY=1.
  int count(const std::string& line) const;
  bool has_line_starting_with(const std::string& beginning) const;
  std::vector<std::string> lines() const;

 private:
  void run();
  void fill() const;

  TempFolder folder_;
  int socket_ = -1;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace inboxd::support
