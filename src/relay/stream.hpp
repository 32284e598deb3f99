#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/logger.hpp"
#include "base/uuid.hpp"
#include "kafka/producer.hpp"
#include "relay/refusals.hpp"

namespace inboxd::relay {

/// A message that a producer has, until its end is known.
struct InFlight {
  std::size_t bytes = 0;
  base::Uuid message_id;
  std::optional<std::int64_t> lane;
  std::chrono::steady_clock::time_point since;
};
using Flight = std::map<std::int64_t, InFlight>;  ///< by id

/// The main producer, which sends in order and in large batches, and its messages. It never recovers: once it is not
/// `sending`, a successor takes its place. Not thread-safe.
class Stream final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State {
    sending,
    failed,   ///< by an error, a refused batch, or a message that the brokers do not acknowledge
    resized,  ///< it needs smaller batches
  };

  Stream(std::unique_ptr<kafka::Producer> made, base::Logger& log) : producer{std::move(made)}, log_{log} {}

  State state() const { return state_; }
  void fail() { change(State::failed); }
  void review(Refusals& refusals, Clock::time_point now) {
    if (!refused.empty() || producer->failure()) change(State::failed);
    if (refusals.make_smaller(now)) change(State::resized);
  }

  /// A message that was sent at that time was acknowledged.
  void acknowledged(Clock::time_point sent_at) {
    newest_acknowledged_ = std::max(newest_acknowledged_, sent_at);
    has_news_ = true;
  }
  bool is_check_due(Clock::time_point now) const { return now >= next_check_; }
  /// Brokers that answer and do not acknowledge a message would hold up all others. If they do not answer, nothing can
  /// be sent anyway; if they are slow, messages are acknowledged about in the order of sending. Returns the time before
  /// which a message must have been sent to count as stalled, if any message is. `oldest`: when the oldest message was
  /// sent.
  std::optional<Clock::time_point> find_stalled(Clock::time_point now, Clock::time_point oldest,
                                                std::chrono::milliseconds stalled_after);

  const std::unique_ptr<kafka::Producer> producer;
  Flight flight;
  std::vector<kafka::Delivery> refused;  ///< not judged yet

 private:
  void change(State to);

  base::Logger& log_;
  State state_ = State::sending;
  Clock::time_point next_check_{};
  std::optional<Clock::time_point> answered_since_;  ///< the brokers, while a message waits for them
  Clock::time_point newest_acknowledged_{};          ///< sending of the newest message that was acknowledged
  Clock::time_point last_news_{};                    ///< of an acknowledgement
  bool has_news_ = false;
};

}  // namespace inboxd::relay
