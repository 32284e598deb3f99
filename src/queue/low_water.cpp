#include "queue/low_water.hpp"

#include <algorithm>

namespace inboxd::dispatcher {

std::optional<event::Microseconds> LowWater::reading_from(Clock::time_point now) const {
  if (!next_full_ || now >= *next_full_) return std::nullopt;
  return mark_;
}

bool LowWater::clock_stepped_back(const inbox::DueReading& reading, Clock::time_point asked) const {
  if (!last_) return false;
  const auto at_least = std::chrono::duration_cast<std::chrono::microseconds>(asked - last_->ours - step_back).count();
  return reading.now - last_->database < at_least;
}

void LowWater::observe(const inbox::DueReading& reading, Clock::time_point asked, Clock::time_point came) {
  if (clock_stepped_back(reading, asked)) {
    *this = {};
    last_ = ClockPair{reading.now, came};
    return;
  }
  last_ = ClockPair{reading.now, came};
  if (!reading_from(asked)) {
    next_full_ = asked + std::clamp<Clock::duration>((came - asked) * full_part, full_interval, max_full_interval);
  }
  const auto behind = std::chrono::duration_cast<std::chrono::microseconds>(came - asked + margin).count();
  const event::Microseconds snapshot_at = reading.now - behind;
  const event::Microseconds earliest = reading.earliest.value_or(snapshot_at);
  if (mark_) mark_ = std::min(*mark_, earliest);  // only a full reading sees rows before the mark
  if (!noted_) {
    noted_ = Noted{snapshot_at, reading.xmax, asked};
  } else if (std::max(reading.xmin, ended_) >= noted_->xmax) {
    mark_ = std::min(noted_->now, earliest);
    noted_ = Noted{snapshot_at, reading.xmax, asked};
  }
  ended_ = reading.writers.value_or(0);
}

}  // namespace inboxd::dispatcher
