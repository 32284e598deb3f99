#pragma once
#include <optional>

#include "config/cron.hpp"
#include "config/settings.hpp"

namespace inboxd::config {

/// When the windows of a batch handler close: multiples of a period since 1970, or the times of a cron expression. A
/// value, for checked settings. Any thread.
class Schedule final {
 public:
  using Time = Cron::Time;

  explicit Schedule(const Batch& batch);

  /// The first close after `after`.
  Time next(Time after) const;
  /// The latest close after `from` and not after `now`; nullopt: none. Any number of missed closes counts as a single
  /// close.
  std::optional<Time> latest(Time from, Time now) const;

 private:
  std::chrono::microseconds every_{0};
  std::optional<Cron> cron_;
};

}  // namespace inboxd::config
