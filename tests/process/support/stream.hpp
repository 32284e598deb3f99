#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "support/kafka.hpp"

namespace inboxd::support {

/// `00000000-0000-4000-8000-00000000002a`: ids by number, for tests that have an inbox of their own.
std::string id_of(std::int64_t number);
/// Events `first` to `first + count - 1`.
std::vector<Message> events_of(const std::string& topic, std::int64_t first, std::int64_t count);

/// Produces numbered events in a thread of its own until stopped, about 1,500 in a second; every twentieth twice.
class Stream final {
 public:
  explicit Stream(std::string topic);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// How many different events the broker has taken so far.
  std::int64_t produced() const { return produced_; }
  /// Ends it; how many there are. Throws what went wrong in the thread.
  std::int64_t stop();

 private:
  void run();

  std::string topic_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::int64_t> produced_{0};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace inboxd::support
