// InFlight for a batch handler, as the claimer asks it: when its window turns, and claims from a closed one.
#include <algorithm>
#include <utility>

#include "dispatcher/in_flight.hpp"

namespace inboxd::dispatcher {

// ---- the claimer

/// All under the lock. Asks whether the window closes.
std::optional<Request> InFlight::turn_window(Clock::time_point now) {
  BatchWindow* const window = feed_.window();
  if (window == nullptr || !takes() || !sequences_.may_run(inbox::whole_handler)) return std::nullopt;
  if (now < window->next_turn()) return std::nullopt;
  inbox::WindowPlan out = window->plan();
  out.fence = sequences_.fence(inbox::whole_handler);
  return TurnWindow{handler_id_, out};
}

void InFlight::answered(const TurnWindow& /*question*/, const inbox::WindowTurn& turn, const Visit& visit) {
  BatchWindow* const window = feed_.window();
  if (window == nullptr || !sequences_.may_run(inbox::whole_handler)) return;  // the settings have changed meanwhile
  window->turned(turn, visit.asked);
  if (turn.state == inbox::WindowTurn::State::lost) sequences_.drain(inbox::whole_handler);
  if (window->is_running()) next_read_ = visit.asked;
  after_change();
}

InFlight::Clock::time_point InFlight::next_window_work(Clock::time_point now) {
  const BatchWindow* const window = feed_.window();
  if (!sequences_.may_run(inbox::whole_handler)) return now + poll_;
  if (!window->is_running()) return window->next_turn();
  if (sequences_.is_alone(inbox::whole_handler)) return now + poll_;
  // The workers wait for a whole call: the claim must not wait for more room than that.
  return has_room_for_claim() || queue_.queued() < settings_.events_per_call ? next_read_ : now + poll_;
}

std::optional<Request> InFlight::claim_window(Clock::time_point now) {
  const BatchWindow* const window = feed_.window();
  const bool may_read = sequences_.may_run(inbox::whole_handler) && !sequences_.is_alone(inbox::whole_handler);
  if (!window->is_running() || !may_read || now < next_read_) return std::nullopt;
  const std::int64_t free = free_room();
  if (free < 1) {
    wants_room_ = true;
    return std::nullopt;
  }
  next_read_ = now + poll_;
  ClaimInOrder out = ordered_claim(free);
  const bool groups_by_key = settings_.order->batch->group_by == config::GroupBy::key;
  out.request.window = inbox::WindowToRead{sequences_.fence(inbox::whole_handler), groups_by_key,
                                           settings_.events_per_call, settings_.max_crashes};
  return out;
}

/// After a claim from the window, whose runs are in the queue.
std::optional<WindowEnd> InFlight::window_read(inbox::SequenceRead::State state, bool has_claimed) {
  BatchWindow* const window = feed_.window();
  using State = inbox::SequenceRead::State;
  std::optional<WindowEnd> out;
  if (state == State::ended && window->is_running()) {
    out = WindowEnd{window->events(), Clock::now() - window->began()};
  }
  window->read(state);
  if (state == State::lost) sequences_.drain(inbox::whole_handler);
  // Leased rows of the window that are not in memory: of a claim without an answer.
  const bool is_strange = state == State::end && !has_claimed && queue_.events() == 0;
  sequences_.read({inbox::whole_handler, is_strange ? State::leased : State::more});
  work_has_come();
  return out;
}

}  // namespace inboxd::dispatcher
