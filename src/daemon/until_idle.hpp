#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "config/settings.hpp"
#include "consumer/topics.hpp"
#include "inbox/connection.hpp"
#include "kafka/handle.hpp"

namespace inboxd::daemon {

/// Whether every event that there was when the daemon began is stored and settled by the configured handlers. Looks at
/// brokers and database, so that it does not matter which instance did the work. One thread.
class UntilIdle final {
 public:
  UntilIdle(const config::Settings& settings, inbox::Connection& connection, base::Logger& log);

  /// Asks again; cheap enough for a few times a second.
  bool reached(rd_kafka_t* client);

 private:
  bool find_ends(rd_kafka_t* client);
  bool positions_reached();

  const config::Settings& settings_;
  const consumer::Topics topics_;
  inbox::Connection& connection_;
  base::Logger& log_;
  bool ends_known_ = false;
  std::map<kafka::TopicPartition, std::int64_t> ends_;  ///< not reached yet
  std::vector<std::string> handlers_;
};

}  // namespace inboxd::daemon
