// InFlight where its Admission decides: pauses, the fuse, the event on trial, limits, and a service that is away.
#include <algorithm>
#include <utility>

#include "dispatcher/in_flight.hpp"

namespace inboxd::dispatcher {

void InFlight::close(Closed reason) {
  const std::lock_guard lock{mutex_};
  apply(admission_.close(reason));
}

void InFlight::reopen(Closed reason) {
  const std::lock_guard lock{mutex_};
  apply(admission_.reopen(reason));
}

void InFlight::set_isolated(bool isolated) { isolated ? close(Closed::isolation) : reopen(Closed::isolation); }

/// Under the lock.
void InFlight::apply(Admission::Effect effect) {
  using Effect = Admission::Effect;
  if (effect == Effect::none) return;
  if (effect == Effect::closed) {
    sequences_.drain_all();
    after_change();
    queue_.release(0);
    count();
  }
  if (effect == Effect::opened) {
    due_.set_backlog(true);
    next_take_ = {};  // its sequences were released
  }
  if (effect != Effect::work) claimer_->wake.notify();
  calls_stopped_ = admission_.hold().state() == Hold::State::held;
  ++work_changes_;
  work_.notify_all();
}

// ---- pauses for all instances

void InFlight::set_hold(inbox::HandlerHold::State state) {
  const std::lock_guard lock{mutex_};
  apply(admission_.change_hold([&](Hold& hold) { hold.read(state); }));
}

bool InFlight::may_try() const {
  const std::lock_guard lock{mutex_};
  return admission_.may_try();
}

void InFlight::pause(const std::string& reason) {
  const std::lock_guard lock{mutex_};
  apply(admission_.change_hold([&](Hold& hold) { hold.pause(reason); }));
}

void InFlight::recorded(std::int64_t done, std::int64_t failed, const std::string& error_class) {
  const std::lock_guard lock{mutex_};
  apply(admission_.change_hold([&](Hold& hold) { hold.recorded(done, failed, error_class); }));
}

void InFlight::called(const CallCount& count) {
  if (!has_fuse_ || (count.failed == 0 && !has_failures_)) return;  // saves the lock
  const std::lock_guard lock{mutex_};
  const auto effect =
      admission_.change_hold([&](Hold& hold) { hold.called(count.done, count.failed, count.error_class); });
  has_failures_ = admission_.hold().has_failures();
  apply(effect);
}

// ---- workers

/// Under the lock. Whether a worker may take events now. If not, the claimer may have to ask the database.
bool InFlight::may_begin() {
  const auto may = admission_.may_take(Clock::now());
  if (may.asks) claimer_->wake.notify();
  return may.take;
}

/// Under the lock. Counts what a worker takes; on trial it is one event.
InFlight::Taken InFlight::begin(Taken taken) {
  if (taken.slices.empty()) return taken;
  if (admission_.tries_one()) {
    std::vector<RunSlice> rest = std::exchange(taken.slices, {});
    RunSlice one = rest.front();
    one.end = one.first + 1;
    if (++rest.front().first == rest.front().end) rest.erase(rest.begin());
    taken.slices.push_back(std::move(one));
    feed_.put_back(queue_, std::move(rest));
  }
  std::int64_t events = 0;
  for (const RunSlice& slice : taken.slices) events += slice.size();
  admission_.take(events);
  return taken;
}

/// So many of a worker's events had expired before their call; `all`: it has no others.
void InFlight::not_called(std::int64_t events, bool all) {
  const std::lock_guard lock{mutex_};
  admission_.give_back(events, all);
  if (all) work_has_come();
}

void InFlight::left() {
  const std::lock_guard lock{mutex_};
  admission_.end_work();
}

void InFlight::away(std::chrono::milliseconds delay, const std::string& error) {
  const std::lock_guard lock{mutex_};
  admission_.go_away(Clock::now(), delay, error);
}

/// Under the lock. The events to have in flight: of a handler with a rate, few, so that other instances have some, too.
/// The calls of a window are not cut.
std::int64_t InFlight::target() const {
  const RateTokens& tokens = admission_.tokens();
  return tokens.is_on() && !feed_.has_window() ? std::min(room_.pace().target(), tokens.most_held())
                                                  : room_.pace().target();
}

}  // namespace inboxd::dispatcher
