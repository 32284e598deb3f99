#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/logger.hpp"
#include "config/settings.hpp"
#include "config/topics.hpp"
#include "kafka/group.hpp"

namespace inboxd::consumer {

/// Finds a group member whose client library waits for ever: it is no member of its group, although the brokers answer
/// another client. Seen after brokers that hung: requests of the old connections stay without an answer, and the
/// library opens no others. Not thread-safe.
class MemberWatch final {
 public:
  using Clock = std::chrono::steady_clock;
  MemberWatch(const config::Kafka& settings, const config::Topics& topics, base::Logger& log)
      : settings_{settings}, topics_{topics}, log_{log} {}

  /// How long a member with this session timeout may be outside its group: three sessions, but 10 to 30 s. A join takes
  /// as long as the slowest member's poll interval, but then the coordinator lists this member.
  static std::chrono::seconds unjoined_limit(std::chrono::milliseconds session);

  /// `unjoined_since`: since when the member has no assignment, not even an empty assignment. Asks the brokers by a new
  /// client, if it is time to; blocks for about four seconds if they do not answer. Only the time counts in which they
  /// answer: after a hang the member needs some to join.
  bool is_stuck(std::optional<Clock::time_point> unjoined_since, std::chrono::seconds limit,
                const std::string& member_id, Clock::time_point now);

 private:
  bool is_missing(const std::string& member_id) const;

  const config::Kafka& settings_;
  const config::Topics& topics_;
  base::Logger& log_;
  Clock::time_point next_question_{};
  std::optional<Clock::time_point> missing_since_;  ///< according to brokers that answer
};

}  // namespace inboxd::consumer
