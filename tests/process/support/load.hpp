#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "process/support/stage.hpp"

namespace inboxd::support {

/// Produces events to the stage's topic at about that rate, in a thread of its own, until it is stopped.
class Load final {
 public:
  Load(Stage& stage, int events_per_second);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Stops and tells the stage what was produced. Throws where the broker did not take it.
  void finish();
  std::int64_t produced() const { return produced_; }
  void wait_for_more(std::int64_t events);

 private:
  void run(int events_per_second);

  Stage& stage_;
  Kafka kafka_;
  std::string run_;
  std::vector<std::string> ids_;
  std::atomic<std::int64_t> produced_{0};
  std::atomic<bool> stopping_{false};
  std::string failure_;
  std::thread thread_;
};

/// Looks all the time whether the group's offsets are ahead of the database, in a thread of its own.
class OffsetsWatch final {
 public:
  explicit OffsetsWatch(const Stage& stage);
  ~OffsetsWatch();
  OffsetsWatch(const OffsetsWatch&) = delete;
  OffsetsWatch& operator=(const OffsetsWatch&) = delete;

  int looks() const { return looks_; }
  int ahead() const { return ahead_; }

 private:
  void run();

  Kafka kafka_;
  Session session_;
  std::string group_;
  std::string topic_;
  std::atomic<int> looks_{0};
  std::atomic<int> ahead_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace inboxd::support
