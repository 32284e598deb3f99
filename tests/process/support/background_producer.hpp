#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "process/support/daemon_fixture.hpp"

namespace inboxd::support {

/// Produces events to the fixture's topic at about that rate, in its own thread, until it is stopped.
class BackgroundProducer final {
 public:
  BackgroundProducer(DaemonFixture& fixture, int events_per_second);
  ~BackgroundProducer();
  BackgroundProducer(const BackgroundProducer&) = delete;
  BackgroundProducer& operator=(const BackgroundProducer&) = delete;

  /// Stops, and adds the produced ids to the fixture's. Throws if the broker refused any.
  void finish();
  std::int64_t produced() const { return produced_; }
  void wait_for_more(std::int64_t events);

 private:
  void run(int events_per_second);

  DaemonFixture& fixture_;
  Kafka kafka_;
  std::string run_;
  std::vector<std::string> ids_;
  std::atomic<std::int64_t> produced_{0};
  std::atomic<bool> stopping_{false};
  std::string failure_;
  std::thread thread_;
};

}  // namespace inboxd::support
