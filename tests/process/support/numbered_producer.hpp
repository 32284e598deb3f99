#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "support/kafka.hpp"

namespace inboxd::support {

/// The id of a numbered event: `00000000-0000-4000-8000-00000000002a`.
std::string id_of(std::int64_t number);
std::vector<Message> events_of(const std::string& topic, std::int64_t first, std::int64_t count);

/// Produces about 1,500 numbered events per second in its own thread until it is stopped; every twentieth twice.
class NumberedProducer final {
 public:
  explicit NumberedProducer(std::string topic);
  ~NumberedProducer();
  NumberedProducer(const NumberedProducer&) = delete;
  NumberedProducer& operator=(const NumberedProducer&) = delete;

  /// Distinct events.
  std::int64_t produced() const { return produced_; }
  /// Stops the thread and returns `produced()`. Rethrows an exception of the thread.
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
