#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>

namespace inboxd::dispatcher {

/// When retries that this instance split off come due, so that it looks for them in time. Times close together are one;
/// there is a limit, beyond which the farthest are forgotten: polling finds those. Pure.
class DueTimes {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds together{20};
  static constexpr std::size_t limit = 1024;

  void add(Clock::time_point due) {
    const auto step = std::chrono::duration_cast<Clock::duration>(together).count();
    const auto rounded = (due.time_since_epoch().count() / step + 1) * step;
    times_.insert(Clock::time_point{Clock::duration{rounded}});
    if (times_.size() > limit) times_.erase(std::prev(times_.end()));
  }

  std::optional<Clock::time_point> next() const {
    return times_.empty() ? std::nullopt : std::optional{*times_.begin()};
  }

  /// Whether some have come; those are forgotten.
  bool take_due(Clock::time_point now) {
    const auto after = times_.upper_bound(now);
    const bool any = after != times_.begin();
    times_.erase(times_.begin(), after);
    return any;
  }

 private:
  std::set<Clock::time_point> times_;
};

}  // namespace inboxd::dispatcher
