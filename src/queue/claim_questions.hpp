#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "queue/feed.hpp"
#include "queue/handler_state.hpp"
#include "queue/requests.hpp"
#include "queue/visit_steps.hpp"

namespace inboxd::dispatcher {

/// A handler's questions of class claim: claims, and the questions that precede them. No lock, no clock.
class ClaimQuestions final {
 public:
  using Clock = std::chrono::steady_clock;

  /// The next question of a visit; nullopt ends it.
  std::optional<Request> next(HandlerState& state, Feed& feed, Clock::time_point now);
  /// When to begin a visit.
  static Clock::time_point next_due(HandlerState& state, const Feed& feed, Clock::time_point now);
  void restart() { steps_.restart(); }
  /// The handler may own sequences again.
  void take_soon() { next_take_ = {}; }

  void answered(HandlerState& state, Feed& feed, const ReadDue& question, const inbox::DueReading& reading,
                const Visit& visit);
  void answered(HandlerState& state, Feed& feed, const TakeSequences& question, const std::vector<std::int32_t>& taken,
                const Visit& visit);
  void answered(HandlerState& state, Feed& feed, const ReadLanes& question, const std::vector<inbox::Lane>& lanes,
                const Visit& visit);

 private:
  std::optional<Request> take_sequences(HandlerState& state, Clock::time_point now);
  static std::optional<Request> claim_in_order(HandlerState& state, Feed& feed, Clock::time_point now);
  static std::optional<Request> claim(HandlerState& state, const Feed& feed, Clock::time_point now);

  VisitSteps steps_;
  Clock::time_point next_take_{};  ///< of sequences
};

}  // namespace inboxd::dispatcher
