#pragma once
#include <cassert>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/logger.hpp"
#include "kafka/producer.hpp"
#include "relay/stream.hpp"

namespace inboxd::relay {

/// The producer that sends messages each in a batch of its own, and these messages. It fails alone. Not thread-safe.
class Trial final {
 public:
  using Clock = std::chrono::steady_clock;
  using Make = std::function<std::unique_ptr<kafka::Producer>()>;
  enum class State {
    resting,  ///< there is no producer: it is made when a message needs it, a second after the last attempt
    sending,
  };

  Trial(Make make, base::Logger& log) : make_{std::move(make)}, log_{log} {}

  State state() const { return state_; }
  /// A message needs it. Whether it can send.
  bool begin(Clock::time_point now) {
    if (state_ == State::resting && now >= next_) {
      next_ = now + rest_timeout;
      producer = make_();
      if (producer) change(State::sending);
    }
    return state_ == State::sending;
  }
  bool has_failed() const { return producer && producer->failure(); }
  std::vector<kafka::Delivery> take() {
    return producer ? producer->take(std::chrono::milliseconds{0}) : std::vector<kafka::Delivery>{};
  }
  /// Drops the producer and its messages, which stay in the database, due.
  Flight rest(Clock::time_point now) {
    change(State::resting);
    next_ = now + rest_timeout;
    producer.reset();
    return std::exchange(flight, {});
  }

  std::unique_ptr<kafka::Producer> producer;  ///< while sending
  Flight flight;

 private:
  static constexpr std::chrono::seconds rest_timeout{1};

  void change(State to) {
    assert(to != state_);
    log_.debug("daemon.state_changed", {{"part", "relay trial"}, {"sending", to == State::sending}});
    state_ = to;
  }

  const Make make_;
  base::Logger& log_;
  State state_ = State::resting;
  Clock::time_point next_{};
};

}  // namespace inboxd::relay
