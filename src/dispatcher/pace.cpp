#include "dispatcher/pace.hpp"

#include <algorithm>
#include <cmath>

namespace inboxd::dispatcher {
namespace {

/// A handler cannot be faster: keeps divisions finite where the clock saw no time pass.
constexpr double least_seconds_per_event = 1e-9;

double seconds(Pace::Duration duration) { return std::chrono::duration<double>{duration}.count(); }

}  // namespace

Pace::Pace(int concurrency, std::int64_t events_per_call, Limits limits)
    : concurrency_{std::max(concurrency, 1)}, events_per_call_{std::max<std::int64_t>(events_per_call, 1)},
      limits_{limits} {}

void Pace::reshape(int concurrency, std::int64_t events_per_call) {
  concurrency_ = std::max(concurrency, 1);
  events_per_call_ = std::max<std::int64_t>(events_per_call, 1);
}

void Pace::worked(std::int64_t events, Duration busy) {
  const double fading = std::exp2(-seconds(busy) / (limits_.half_life_seconds * static_cast<double>(concurrency_)));
  events_ = events_ * fading + static_cast<double>(events);
  seconds_ = seconds_ * fading + seconds(busy);
}

double Pace::seconds_per_event() const {
  double slowest = least_seconds_per_event;
  if (events_ > 0) slowest = std::max(slowest, seconds_ / events_);
  if (running_.events > 0) {
    const double with_running =
        (seconds_ + seconds(running_.elapsed)) / (events_ + static_cast<double>(running_.events));
    slowest = std::max(slowest, with_running);
  }
  return slowest;
}

std::int64_t Pace::target() const {
  const double by_rate = limits_.in_hand_seconds * static_cast<double>(concurrency_) / seconds_per_event();
  const double by_evidence = static_cast<double>(limits_.start_events) + static_cast<double>(limits_.growth) * events_;
  return std::max(minimum(), static_cast<std::int64_t>(std::min(by_rate, by_evidence)));
}

/// Events that keep a worker busy for so long; 0 while nothing is known.
std::int64_t Pace::worth(double seconds) const {
  return events_ > 0 ? std::llround(std::min(seconds / seconds_per_event(), 1e9)) : 0;
}

std::int64_t Pace::whole_calls(std::int64_t events) const {
  return std::max(events / events_per_call_, std::int64_t{1}) * events_per_call_;
}

std::int64_t Pace::turn_of(std::int64_t queued, double seconds) const {
  const std::int64_t even = (queued + concurrency_ - 1) / concurrency_;
  return whole_calls(std::min(worth(seconds), std::max(worth(limits_.alone_seconds), even)));
}

double Pace::per_second() const {
  return events_ > 0 ? static_cast<double>(concurrency_) / seconds_per_event() : 0.0;
}

}  // namespace inboxd::dispatcher
