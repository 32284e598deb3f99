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
#include "inbox/watchdog.hpp"
#include "kafka/handle.hpp"

namespace inboxd::daemon {

/// Whether every event that there was when the daemon began is stored and settled by the configured handlers. Looks at
/// brokers and database, so that it does not matter which instance did the work. One thread. Asks over a connection of
/// its own, and no question takes long: a signal is not noticed meanwhile.
class UntilIdle final {
 public:
  UntilIdle(const config::Settings& settings, inbox::Watchdog& watchdog, base::Logger& log);

  enum class State {
    busy,
    idle,
    stuck,  ///< all is done but what a person has to see to: a halted partition, an absent topic; the log says which
  };
  /// Asks again; cheap enough for a few times a second. `handlers` are those in force.
  State look(rd_kafka_t* client, const std::map<std::int32_t, std::string>& handlers);

 private:
  bool find_ends(rd_kafka_t* client);
  bool positions_reached();
  void tell_stuck() const;

  const config::Settings& settings_;
  const consumer::Topics topics_;
  inbox::Connection connection_;
  base::Logger& log_;
  bool ends_known_ = false;
  std::map<kafka::TopicPartition, std::int64_t> ends_;  ///< not reached yet
  std::map<kafka::TopicPartition, std::string> halted_;  ///< at the last look: those of them that stand still, and why
  std::vector<std::string> absent_;                      ///< topics that are configured by name and not listed
};

}  // namespace inboxd::daemon
