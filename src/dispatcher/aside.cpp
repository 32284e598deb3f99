#include "dispatcher/aside.hpp"

#include <algorithm>

namespace inboxd::dispatcher {
namespace {

/// Of an aside's own time, until the next: many suspects must not hold everything up one after another.
constexpr int rest = 10;

}  // namespace

void Aside::begin(std::int32_t handler_id, const Handlers& hands, Clock::time_point now) {
  handler_id_ = handler_id;
  had_its_turn_ = false;
  began_ = now;
  until_ = now + limits_.emptying;
  for (const auto& hand : hands) hand->close(InHand::Closed::aside);
}

std::shared_ptr<InHand> Aside::turn(const Handlers& hands, Clock::time_point now) {
  if (had_its_turn_) return nullptr;
  const auto has_any = [](const auto& hand) { return hand->lease_at_stake().has_value(); };
  if (now < until_ && std::any_of(hands.begin(), hands.end(), has_any)) return nullptr;
  had_its_turn_ = true;
  until_ = now + limits_.running;
  const auto found =
      std::find_if(hands.begin(), hands.end(), [this](const auto& hand) { return hand->handler_id() == handler_id_; });
  if (found == hands.end()) return nullptr;
  (*found)->reopen(InHand::Closed::aside);
  return *found;
}

void Aside::review(const Handlers& hands, bool is_in_hand, Clock::time_point now) {
  if (!had_its_turn_ || (is_in_hand && now < until_)) return;
  for (const auto& hand : hands) hand->reopen(InHand::Closed::aside);
  handler_id_ = 0;
  rest_until_ = now + rest * (now - began_);
}

Aside::Clock::time_point Aside::next_look(Clock::time_point now) const {
  return is_on() ? now + limits_.look : Clock::time_point::max();
}

}  // namespace inboxd::dispatcher
