#include "config/schedule.hpp"

#include <algorithm>
#include <stdexcept>

namespace inboxd::config {
namespace {

using std::chrono::hours;

/// How far back a missed close is searched first: then few closes lie between it and now.
constexpr hours stretches[] = {hours{2}, hours{2 * 24}, hours{62 * 24}, hours{732 * 24}, hours{3'660 * 24}};

}  // namespace

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
  if (!cron_) {
    const Time last{now.time_since_epoch() / every_ * every_};
    return last > from ? std::optional{last} : std::nullopt;
  }
  for (const hours stretch : stretches) {
    Time at = next(std::max(from, now - stretch));
    if (at > now) {
      if (now - stretch <= from) return std::nullopt;
      continue;
    }
    for (Time later = next(at); later <= now; later = next(at)) at = later;
    return at;
  }
  return std::nullopt;
}

}  // namespace inboxd::config
