#pragma once
#include <bitset>
#include <chrono>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace date {
class time_zone;
}

namespace inboxd::config {

/// The times of a cron expression: minute, hour, day of month, month, day of week (0 or 7: Sunday), each a list of
/// values, ranges and steps (1-5, */10, mon-fri), in a time zone. As in crontab(5), a day matches by either field if
/// both days are restricted. A value. Any thread.
///
/// When the clocks go forward, a skipped time is replaced by the first minute after the gap. When they go back, a time
/// that comes twice counts the first time. With * or */n as hour the expression means an interval: it follows the real
/// hours, in the gap none, in the repeated hour again.
class Cron final {
 public:
  using Time = std::chrono::sys_time<std::chrono::microseconds>;

  /// The problem names the field and its remedy.
  static base::Result<Cron> parse(const std::string& text, const std::string& time_zone);

  /// The first time after `after`; nullopt: none within ten years.
  std::optional<Time> next(Time after) const;
  /// The last time after `after` and not after `until`; nullopt: none within ten years.
  std::optional<Time> last(Time after, Time until) const;

 private:
  Cron() = default;
  bool matches(std::chrono::sys_days day) const;
  template <class Visit>
  void each_of_day(std::chrono::sys_days day, Visit visit) const;
  std::chrono::sys_days local_day(Time time) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<8> weekdays_;
  bool any_day_ = true;      ///< day of month is *
  bool any_weekday_ = true;  ///< day of week is *
  bool is_interval_ = false;
  const date::time_zone* zone_ = nullptr;  ///< of the library, for ever
};

}  // namespace inboxd::config
