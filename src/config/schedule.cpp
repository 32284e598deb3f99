#include "config/schedule.hpp"

#include <stdexcept>
#include <utility>

namespace inboxd::config {
Schedule::Schedule(const Batch& batch) : every_{batch.every} {
  if (batch.cron == "off") {
    if (every_.count() <= 0) throw std::invalid_argument{"a batch handler has neither batch.every nor batch.cron"};
    return;
  }
  auto cron = Cron::parse(batch.cron, batch.time_zone);
  if (!cron) throw std::invalid_argument{"batch.cron: " + cron.problem().message};
  cron_ = std::move(cron).value();
}

Schedule::Time Schedule::next(Time after) const {
  if (cron_) return cron_->next(after).value_or(Time::max());
  return Time{(after.time_since_epoch() / every_ + 1) * every_};
}

std::optional<Schedule::Time> Schedule::latest(Time from, Time now) const {
  if (cron_) return cron_->last(from, now);
  const Time last{now.time_since_epoch() / every_ * every_};
  return last > from ? std::optional{last} : std::nullopt;
}

}  // namespace inboxd::config
