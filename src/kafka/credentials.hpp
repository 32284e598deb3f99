#pragma once
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>

namespace inboxd::kafka {

/// Gives clients a changed `sasl.username` or `sasl.password`, for their next connections: passwords are rotated, and
/// the library keeps those that it was made with. One thread.
class Credentials final {
 public:
  using Properties = std::map<std::string, std::string>;

  /// `now` returns the properties as they are at this moment; unset: they never change.
  explicit Credentials(std::function<Properties()> now = {}) : now_{std::move(now)} {}

  /// Called when a connection has failed. Looks at most once a second.
  void renew(std::initializer_list<rd_kafka_t*> clients);

 private:
  std::function<Properties()> now_;
  std::chrono::steady_clock::time_point next_look_{};
  std::string username_, password_;
};

}  // namespace inboxd::kafka
