#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "inbox/connection.hpp"
#include "inbox/watchdog.hpp"
#include "kafka/handle.hpp"

namespace inboxd::daemon {

/// Whether the configured handlers have settled every event that existed at the start. Asks brokers and database, so
/// that work of other instances counts. Main thread: each query has a short limit, because signals wait meanwhile.
class UntilIdle final {
 public:
  UntilIdle(const config::Settings& settings, inbox::Watchdog& watchdog, base::Logger& log);

  enum class State {
    busy,
    idle,
    stuck,  ///< only work for an operator is left: a halted partition, a missing topic; see the log
    held,   ///< an open transaction hides records that were there at the start; see the log
  };
  /// Cheap enough for a few times a second. `client`: null if no topic of Kafka is read. `handlers`: the running
  /// handlers.
  State check(rd_kafka_t* client, const std::map<std::int32_t, std::string>& handlers);

 private:
  bool find_ends(rd_kafka_t* client);
  bool positions_reached();
  bool local_events_stored();
  std::optional<State> held_back(rd_kafka_t* client);
  void log_stuck() const;

  const config::Topics topics_;
  inbox::Connection connection_;
  base::Logger& log_;
  bool ends_known_ = false;
  std::optional<std::int64_t> last_local_;  ///< the highest number of an enqueued event at the start
  std::map<kafka::TopicPartition, std::int64_t> ends_;  ///< not reached yet: before the first open transaction
  std::map<kafka::TopicPartition, std::int64_t> highs_;  ///< ends of all records, where a transaction was open
  std::map<kafka::TopicPartition, std::string> halted_;  ///< of these handlers, at the last check, with reasons
  std::map<std::string, std::string> absent_;            ///< configured topics that brokers do not list; the remedies
};

}  // namespace inboxd::daemon
