#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "dispatcher/in_hand.hpp"

namespace inboxd::dispatcher {

/// A suspect that has few chances left gets them alone in this process, so that no crash of another's doing makes it
/// dead: all handlers put aside what no worker has begun and take nothing more; when the calls under way have ended it
/// is claimed, and the others go on when it has left. Calls that take long are not waited for without end, nor do all
/// wait for it so long; and after one suspect the others' work goes on for ten times as long, before the next has its
/// turn. The claimer's thread.
class Aside final {
 public:
  using Clock = std::chrono::steady_clock;
  using Handlers = std::vector<std::shared_ptr<InHand>>;

  struct Limits {
    std::chrono::milliseconds emptying{10'000};  ///< until the calls under way have ended
    std::chrono::milliseconds running{10'000};   ///< until it has left
    std::chrono::milliseconds look{10};          ///< between two looks at that
  };

  explicit Aside(Limits limits) : limits_{limits} {}

  bool is_on() const { return handler_id_ != 0; }
  /// It was on a moment ago: suspects with few chances are to be passed over.
  bool is_resting(Clock::time_point now) const { return now < rest_until_; }
  void begin(std::int32_t handler_id, const Handlers& hands, Clock::time_point now);
  /// Once, when it is time: the handler whose suspect is to be claimed.
  std::shared_ptr<InHand> turn(const Handlers& hands, Clock::time_point now);
  /// Ends it, where the suspect has left, or has not come at all, or takes long.
  void review(const Handlers& hands, bool is_in_hand, Clock::time_point now);
  Clock::time_point next_look(Clock::time_point now) const;

 private:
  const Limits limits_;
  std::int32_t handler_id_ = 0;
  bool had_its_turn_ = false;
  Clock::time_point until_{};
  Clock::time_point began_{};
  Clock::time_point rest_until_{};
};

}  // namespace inboxd::dispatcher
