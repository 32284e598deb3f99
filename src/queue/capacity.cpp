#include "queue/capacity.hpp"

#include <algorithm>
#include <cmath>

namespace inboxd::dispatcher {
namespace {

/// Keeps divisions finite where the clock saw no time pass.
constexpr double min_seconds_per_event = 1e-9;

double seconds(Pace::Duration duration) { return std::chrono::duration<double>{duration}.count(); }

}  // namespace

// ---- budgets

void Budget::divide(int handlers) {
  const std::int64_t share = limit_ / (2 * std::max(handlers, 1));
  share_ = share;
  common_ = limit_ - share * std::max(handlers, 1);
}

std::int64_t Budget::common_part(std::int64_t held) const { return std::max<std::int64_t>(0, held - share_.load()); }

std::int64_t Budget::left_for(std::int64_t held) const {
  const std::int64_t of_share = std::max<std::int64_t>(0, share_.load() - held);
  return of_share + std::max<std::int64_t>(0, common_.load() - used_.load());
}

std::int64_t free_room(const RoomState& state) {
  const std::int64_t wanted = std::max(state.target, state.minimum) - state.held;
  const std::int64_t by_events = std::max(state.events_left, state.minimum - state.held);
  const std::int64_t by_bytes = state.bytes_left / std::max<std::int64_t>(state.bytes_per_event, 1);
  const std::int64_t room = std::max<std::int64_t>(0, std::min({wanted, by_events, by_bytes}));
  return state.held == 0 ? std::max<std::int64_t>(room, 1) : room;
}

// ---- pace

Pace::Pace(int concurrency, std::int64_t events_per_call, Limits limits)
    : concurrency_{std::max(concurrency, 1)},
      events_per_call_{std::max<std::int64_t>(events_per_call, 1)},
      limits_{limits} {}

void Pace::configure(int concurrency, std::int64_t events_per_call) {
  concurrency_ = std::max(concurrency, 1);
  events_per_call_ = std::max<std::int64_t>(events_per_call, 1);
}

void Pace::worked(std::int64_t events, Duration busy) {
  const double decay = std::exp2(-seconds(busy) / (limits_.half_life_seconds * static_cast<double>(concurrency_)));
  events_ = events_ * decay + static_cast<double>(events);
  seconds_ = seconds_ * decay + seconds(busy);
}

double Pace::seconds_per_event() const {
  double slowest = min_seconds_per_event;
  if (events_ > 0) slowest = std::max(slowest, seconds_ / events_);
  if (running_.events > 0) {
    const double with_running =
        (seconds_ + seconds(running_.elapsed)) / (events_ + static_cast<double>(running_.events));
    slowest = std::max(slowest, with_running);
  }
  return slowest;
}

std::int64_t Pace::target() const {
  const double by_rate = limits_.in_flight_seconds * static_cast<double>(concurrency_) / seconds_per_event();
  const double by_evidence = static_cast<double>(limits_.start_events) + static_cast<double>(limits_.growth) * events_;
  return std::max(minimum(), static_cast<std::int64_t>(std::min(by_rate, by_evidence)));
}

/// The events that keep a worker busy for that long; 0 while the speed is unknown.
std::int64_t Pace::events_in(double seconds) const {
  return events_ > 0 ? std::llround(std::min(seconds / seconds_per_event(), 1e9)) : 0;
}

std::int64_t Pace::whole_calls(std::int64_t events) const {
  return std::max(events / events_per_call_, std::int64_t{1}) * events_per_call_;
}

std::int64_t Pace::batch_size(std::int64_t queued, double seconds) const {
  const std::int64_t even = (queued + concurrency_ - 1) / concurrency_;
  return whole_calls(std::min(events_in(seconds), std::max(events_in(limits_.alone_seconds), even)));
}

double Pace::per_second() const { return events_ > 0 ? static_cast<double>(concurrency_) / seconds_per_event() : 0.0; }

// ---- reservations

void Reservations::reserve(std::thread::id thread, std::int64_t events, std::int64_t bytes,
                           Clock::time_point lease_end) {
  if (events <= 0) return;
  Reservation& mine = reservations_[thread];
  mine.lease_end = mine.events == 0 ? lease_end : std::min(mine.lease_end, lease_end);
  mine.events += events;
  events_ += events;
  bytes_ += bytes;
}

std::optional<Reservations::Clock::time_point> Reservations::end(std::thread::id thread, std::int64_t events) {
  auto at = reservations_.find(thread);
  if (at == reservations_.end()) {
    at = std::min_element(reservations_.begin(), reservations_.end(),
                          [](const auto& a, const auto& b) { return a.second.lease_end < b.second.lease_end; });
  }
  if (at == reservations_.end()) return std::nullopt;
  const auto lease_end = at->second.lease_end;
  const std::int64_t ended = std::min(events, at->second.events);
  bytes_ = ended == events_ ? 0 : bytes_ - bytes_ / events_ * ended;
  events_ -= ended;
  at->second.events -= ended;
  if (at->second.events == 0) reservations_.erase(at);
  return lease_end;
}

}  // namespace inboxd::dispatcher
