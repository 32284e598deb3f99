// InFlight while its handler is paused for all instances, or tries one event.
#include <utility>

#include "dispatcher/in_flight.hpp"

namespace inboxd::dispatcher {

void InFlight::set_hold(inbox::HandlerHold::State state) {
  const std::lock_guard lock{mutex_};
  const auto before = hold_.state();
  hold_.read(state);
  after_hold(before);
}

std::optional<Request> InFlight::write_hold(Clock::time_point /*now*/) {
  if (!hold_.news()) return std::nullopt;
  return WriteHold{handler_id_, *hold_.news()};
}

void InFlight::answered(const WriteHold& question, std::monostate /*result*/, const Visit& /*visit*/) {
  hold_.written(question.news);
}

bool InFlight::may_try() const {
  const std::lock_guard lock{mutex_};
  return (closed_ & ~static_cast<unsigned>(Closed::held)) == 0;
}

void InFlight::pause(const std::string& reason) {
  const std::lock_guard lock{mutex_};
  const auto before = hold_.state();
  hold_.pause(reason);
  after_hold(before);
}

void InFlight::recorded(std::int64_t done, std::int64_t failed, const std::string& error_class) {
  const std::lock_guard lock{mutex_};
  const auto before = hold_.state();
  hold_.recorded(done, failed, error_class);
  after_hold(before);
}

void InFlight::called(const CallCount& count) {
  if (!has_fuse_ || (count.failed == 0 && !has_failures_)) return;  // saves the lock
  const std::lock_guard lock{mutex_};
  const auto before = hold_.state();
  hold_.called(count.done, count.failed, count.error_class);
  has_failures_ = hold_.has_failures();
  after_hold(before);
}

/// Under the lock.
void InFlight::after_hold(Hold::State before) {
  if (hold_.state() == before) return;
  calls_stopped_ = hold_.state() == Hold::State::held;
  if (hold_.state() == Hold::State::held) {
    close_for(Closed::held);
  } else {
    reopen_for(Closed::held);
  }
  ++work_changes_;
  work_.notify_all();
}

/// Under the lock. While an event is tried, the others wait.
bool InFlight::waits_for_trial() const { return hold_.state() == Hold::State::trial && hold_.is_tried(); }

/// So many of a worker's events had expired before their call; `all`: it has no others.
void InFlight::not_called(std::int64_t events, bool all) {
  const std::lock_guard lock{mutex_};
  tokens_.give_back(events);
  if (!all) return;
  hold_.put_back();
  work_has_come();
}

/// Under the lock. Of events for a worker, the one to try.
void InFlight::keep_one(Taken& taken) {
  if (hold_.state() != Hold::State::trial || taken.slices.empty()) return;
  hold_.take_trial();
  std::vector<RunSlice> rest = std::exchange(taken.slices, {});
  RunSlice one = rest.front();
  one.end = one.first + 1;
  if (++rest.front().first == rest.front().end) rest.erase(rest.begin());
  taken.slices.push_back(std::move(one));
  order_ ? put_back_in_order(rest) : queue_.put_back(std::move(rest));
}

}  // namespace inboxd::dispatcher
