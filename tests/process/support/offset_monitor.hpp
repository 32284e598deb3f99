#pragma once
#include <atomic>
#include <string>
#include <thread>

#include "process/support/daemon_fixture.hpp"

namespace inboxd::support {

/// Checks all the time, in its own thread, whether the group's offsets are ahead of the database.
class OffsetMonitor final {
 public:
  explicit OffsetMonitor(const DaemonFixture& fixture);
  ~OffsetMonitor();
  OffsetMonitor(const OffsetMonitor&) = delete;
  OffsetMonitor& operator=(const OffsetMonitor&) = delete;

  int checks() const { return checks_; }
  int ahead() const { return ahead_; }

 private:
  void run();

  Kafka kafka_;
  Session session_;
  std::string group_;
  std::string topic_;
  std::atomic<int> checks_{0};
  std::atomic<int> ahead_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace inboxd::support
