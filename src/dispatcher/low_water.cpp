#include "dispatcher/low_water.hpp"

#include <algorithm>

namespace inboxd::dispatcher {

std::optional<event::Microseconds> LowWater::reading_from(Clock::time_point now) const {
  if (!last_full_ || now - *last_full_ >= full_every) return std::nullopt;
  return mark_;
}

void LowWater::observe(const inbox::DueReading& reading, Clock::time_point asked, Clock::time_point came) {
  if (!reading_from(asked)) last_full_ = asked;
  const auto behind = std::chrono::duration_cast<std::chrono::microseconds>(came - asked + margin).count();
  const event::Microseconds snapshot_at = reading.now - behind;
  const event::Microseconds earliest = reading.earliest.value_or(snapshot_at);
  if (mark_) mark_ = std::min(*mark_, earliest);  // only a full reading can see anything before the mark
  if (!noted_) {
    noted_ = Noted{snapshot_at, reading.xmax};
  } else if (reading.xmin >= noted_->xmax) {
    mark_ = std::min(noted_->now, earliest);
    noted_ = Noted{snapshot_at, reading.xmax};
  }
}

}  // namespace inboxd::dispatcher
