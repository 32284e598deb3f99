// InFlight for a batch handler: when its window turns, claims from a closed one, and the events of a call.
#include <algorithm>
#include <utility>

#include "dispatcher/in_flight.hpp"
#include "dispatcher/order.hpp"

namespace inboxd::dispatcher {

// ---- the claimer

/// All under the lock. Asks whether the window closes.
std::optional<Request> InFlight::turn_window(Clock::time_point now) {
  if (!window_ || !takes() || !sequences_.may_run(inbox::whole_handler)) return std::nullopt;
  if (now < window_->next_turn()) return std::nullopt;
  inbox::WindowPlan out = window_->plan();
  out.fence = sequences_.fence(inbox::whole_handler);
  return TurnWindow{handler_id_, out};
}

void InFlight::answered(const TurnWindow& /*question*/, const inbox::WindowTurn& turn, const Visit& visit) {
  if (!window_ || !sequences_.may_run(inbox::whole_handler)) return;  // the settings have changed meanwhile
  window_->turned(turn, visit.asked);
  if (turn.state == inbox::WindowTurn::State::lost) sequences_.drain(inbox::whole_handler);
  if (window_->is_running()) next_read_ = visit.asked;
  after_change();
}

InFlight::Clock::time_point InFlight::next_window_work(Clock::time_point now) const {
  if (!sequences_.may_run(inbox::whole_handler)) return now + poll_;
  if (!window_->is_running()) return window_->next_turn();
  if (sequences_.is_alone(inbox::whole_handler)) return now + poll_;
  // The workers wait for a whole call: the claim must not wait for more room than that.
  return room_is_enough() || queue_.queued() < events_per_call_ ? next_read_ : now + poll_;
}

std::optional<Request> InFlight::claim_window(Clock::time_point now) {
  const bool may_read = sequences_.may_run(inbox::whole_handler) && !sequences_.is_alone(inbox::whole_handler);
  if (!window_->is_running() || !may_read || now < next_read_) return std::nullopt;
  const std::int64_t free = room();
  if (free < 1) {
    wants_room_ = true;
    return std::nullopt;
  }
  next_read_ = now + poll_;
  ClaimInOrder out = ordered_claim(free);
  out.request.window =
      inbox::WindowToRead{sequences_.fence(inbox::whole_handler), order_->batch->group_by == config::GroupBy::key,
                          events_per_call_, max_crashes_};
  return out;
}

/// After a claim from the window, whose runs are in the queue.
std::optional<WindowEnd> InFlight::window_read(inbox::SequenceRead::State state, bool has_claimed) {
  using State = inbox::SequenceRead::State;
  std::optional<WindowEnd> out;
  if (state == State::ended && window_->is_running()) {
    out = WindowEnd{window_->events(), Clock::now() - window_->began()};
  }
  window_->read(state);
  if (state == State::lost) sequences_.drain(inbox::whole_handler);
  // Leased rows of the window that are not in memory: of a claim without an answer.
  const bool is_strange = state == State::end && !has_claimed && queue_.events() == 0;
  sequences_.read({inbox::whole_handler, is_strange ? State::leased : State::more});
  work_has_come();
  return out;
}

// ---- workers

/// The events of one call, of one key with group_by: key. A call waits for more events of the window until it is full,
/// unless all are in memory, or memory is full.
InFlight::Taken InFlight::take_window() {
  Taken out;
  sequences_.drain_overdue(Clock::now());
  after_change();
  if (queue_.queued() > 0 && !may_begin()) return out;
  const bool groups = order_->batch->group_by == config::GroupBy::key;
  std::int64_t left = events_per_call_;
  const bool is_full = claiming_ == 0 && room() < 1;  // a claim in progress has reserved room
  bool is_complete = window_->is_read() || is_full || sequences_.is_alone(inbox::whole_handler);
  std::optional<std::int64_t> group;
  while (left > 0) {
    auto slice = queue_.next_slice([](const settler::Run&) { return true; });
    if (!slice) break;
    const bool is_first = out.slices.empty();
    const bool joins = is_first || (!slice->one_by_one && !out.slices.front().one_by_one &&
                                    is_suspect(slice->run->lease) == is_suspect(out.slices.front().run->lease) &&
                                    (!groups || slice->run->lease.group == group));
    if (!joins) {
      queue_.push_front(std::move(*slice));
      is_complete = true;
      break;
    }
    group = slice->run->lease.group;
    RunSlice part = *slice;
    part.end = std::min(part.end, part.first + static_cast<std::size_t>(part.one_by_one ? 1 : left));
    part.begins_call = is_first;
    left -= part.size();
    slice->first = part.end;
    if (slice->first < slice->end) queue_.push_front(std::move(*slice));
    out.slices.push_back(std::move(part));
  }
  if (left > 0 && !is_complete) {
    for (auto slice = out.slices.rbegin(); slice != out.slices.rend(); ++slice) queue_.push_front(std::move(*slice));
    return {};
  }
  for (const RunSlice& slice : out.slices) queue_.taken(*slice.run, slice.size());
  if (!out.slices.empty() && queue_.any_slice()) work_has_come();
  return out;
}

}  // namespace inboxd::dispatcher
