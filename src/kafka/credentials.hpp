#pragma once
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>

namespace inboxd::kafka {

/// What clients were made with, and whether that has been rotated since. A changed `sasl.username` or `sasl.password`
/// is given to the clients, for their next connections, and so is the token of a file. Certificates, keys and all other
/// properties are read by the library only when a client is made, so these clients must be replaced. Not thread-safe.
class Credentials final {
 public:
  using Properties = std::map<std::string, std::string>;

  /// Made just before the clients. `now` returns the properties as they are at this moment; unset: they never change.
  explicit Credentials(std::function<Properties()> now = {});

  /// A connection has failed: `renew` looks for a minute. The library reports an error that repeats every 30 s only.
  void note_failure();
  /// Called again and again. Looks at most once a second. Returns whether the clients must be replaced.
  bool renew(std::initializer_list<rd_kafka_t*> clients);

 private:
  std::function<Properties()> now_;
  std::chrono::steady_clock::time_point next_look_{}, last_look_{};
  std::string username_, password_;
  std::string others_;  ///< SHA-256 of all other properties and of the files that they name
};

}  // namespace inboxd::kafka
