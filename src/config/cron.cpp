#include "config/cron.hpp"

#include <date/tz.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace inboxd::config {
namespace {

using std::chrono::days;
using std::chrono::sys_days;

/// Beyond the longest distance of two 29 Februaries.
constexpr days max_search{3'660};

struct Field {
  const char* name;
  int least;
  int most;
  std::vector<std::string_view> words;  ///< for the values from `least` on
};

const std::array<Field, 5>& fields() {
  static const std::array<Field, 5> all{{
      {"minute", 0, 59, {}},
      {"hour", 0, 23, {}},
      {"day of month", 1, 31, {}},
      {"month", 1, 12, {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
      {"day of week", 0, 7, {"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
  }};
  return all;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream stream{text};
  for (std::string part; std::getline(stream, part, separator);) out.push_back(part);
  if (text.empty() || text.back() == separator) out.emplace_back();
  return out;
}

std::optional<int> number(std::string_view text) {
  int out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

std::optional<int> value(const Field& field, std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto word = std::find(field.words.begin(), field.words.end(), text);
  if (word != field.words.end()) return field.least + static_cast<int>(word - field.words.begin());
  const auto out = number(text);
  return out && *out >= field.least && *out <= field.most ? out : std::nullopt;
}

/// An item of a list: *, 5, 1-5, with /step or without. False: a mistake.
template <class Bits>
bool add_item(const Field& field, const std::string& item, Bits& out) {
  const auto slash = item.find('/');
  const std::string range = item.substr(0, slash);
  const auto step = slash == std::string::npos ? std::optional{1} : number(item.substr(slash + 1));
  if (!step || *step < 1 || *step > field.most) return false;
  std::optional<int> first = field.least, last = field.most;
  if (range != "*") {
    const auto dash = range.find('-');
    first = value(field, range.substr(0, dash));
    last = dash != std::string::npos    ? value(field, range.substr(dash + 1))
           : slash == std::string::npos ? first
                                        : std::optional{field.most};
  }
  if (!first || !last || *first > *last) return false;
  for (int i = *first; i <= *last; i += *step) out.set(static_cast<std::size_t>(i));
  return true;
}

template <class Bits>
std::optional<base::Problem> read_field(const Field& field, const std::string& text, Bits& out) {
  for (const std::string& item : split(text, ',')) {
    if (add_item(field, item, out)) continue;
    return base::Problem{"'" + item + "' is no " + field.name + "; write values from " + std::to_string(field.least) +
                         " to " + std::to_string(field.most) + " as *, 5, 1-5, */10 or a list of these"};
  }
  return std::nullopt;
}

const date::time_zone* find_zone(const std::string& name) {
  try {
    return date::locate_zone(name);
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

/// Whether the zone's file has later changes of the clock only as a rule in its last line (`EST5EDT,M3.2.0,M11.1.0`),
/// as `zic -b slim` writes it. The library ignores that line.
bool lacks_future(const date::time_zone& zone) {
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (zone.get_info(now).end < now + std::chrono::years{100}) return false;
  std::ifstream file{"/usr/share/zoneinfo/" + zone.name(), std::ios::binary};
  std::string last;
  for (std::string line; std::getline(file, line);) last = std::move(line);
  return last.find(',') != std::string::npos;
}

}  // namespace

base::Result<Cron> Cron::parse(const std::string& text, const std::string& time_zone) {
  std::vector<std::string> parts;
  std::istringstream words{text};
  for (std::string word; words >> word;) parts.push_back(word);
  if (parts.size() != fields().size()) {
    return base::Problem{"must have five fields: minute, hour, day of month, month, day of week ('0 6 * * mon-fri')"};
  }
  Cron out;
  const auto& all = fields();
  for (auto problem : {read_field(all[0], parts[0], out.minutes_), read_field(all[1], parts[1], out.hours_),
                       read_field(all[2], parts[2], out.days_), read_field(all[3], parts[3], out.months_),
                       read_field(all[4], parts[4], out.weekdays_)}) {
    if (problem) return *problem;
  }
  if (out.weekdays_.test(7)) out.weekdays_.set(0);
  out.is_interval_ = parts[1].starts_with('*');
  out.any_day_ = parts[2].starts_with('*');
  out.any_weekday_ = parts[4].starts_with('*');
  out.zone_ = find_zone(time_zone);
  if (out.zone_ == nullptr) {
    return base::Problem{"no time zone '" + time_zone + "' in this machine's tzdata; write it like Europe/Berlin",
                         "time_zone"};
  }
  if (lacks_future(*out.zone_)) {
    return base::Problem{"the file of time zone '" + time_zone +
                             "' lacks its future changes, as zic -b slim writes it; install a tzdata of fat files, as "
                             "Debian's, or compile it with zic -b fat",
                         "time_zone"};
  }
  if (!out.next(Time{days{20'000}})) return base::Problem{"no day matches; correct the day of month or the month"};
  return out;
}

/// If both fields of days are restricted, either is enough.
bool Cron::matches(sys_days day) const {
  const std::chrono::year_month_day date{day};
  if (!months_.test(static_cast<unsigned>(date.month()))) return false;
  const bool by_day = days_.test(static_cast<unsigned>(date.day()));
  const bool by_weekday = weekdays_.test(std::chrono::weekday{day}.c_encoding());
  return any_day_ || any_weekday_ ? by_day && by_weekday : by_day || by_weekday;
}

/// The times of a local day, not sorted.
template <class Visit>
void Cron::each_of_day(sys_days day, Visit visit) const {
  if (!matches(day)) return;
  for (int hour = 0; hour < 24; ++hour) {
    for (int minute = 0; minute < 60; ++minute) {
      if (!hours_.test(static_cast<std::size_t>(hour)) || !minutes_.test(static_cast<std::size_t>(minute))) continue;
      const date::local_seconds local{day.time_since_epoch() + std::chrono::hours{hour} + std::chrono::minutes{minute}};
      const date::local_info info = zone_->get_info(local);
      const auto at_offset = [&](const date::sys_info& of) { return Time{local.time_since_epoch() - of.offset}; };
      if (info.result == date::local_info::nonexistent) {
        if (!is_interval_) visit(Time{info.first.end.time_since_epoch()});
        continue;
      }
      visit(at_offset(info.first));
      if (info.result == date::local_info::ambiguous && is_interval_) visit(at_offset(info.second));
    }
  }
}

sys_days Cron::local_day(Time time) const {
  const date::sys_seconds seconds{std::chrono::floor<std::chrono::seconds>(time.time_since_epoch())};
  return sys_days{std::chrono::floor<days>(zone_->to_local(seconds).time_since_epoch())};
}

std::optional<Cron::Time> Cron::next(Time after) const {
  std::optional<Time> out;
  const sys_days first = local_day(after);
  for (sys_days day = first; !out && day <= first + max_search; day += days{1}) {
    each_of_day(day, [&](Time at) {
      if (at > after && (!out || at < *out)) out = at;
    });
  }
  return out;
}

std::optional<Cron::Time> Cron::last(Time after, Time until) const {
  std::optional<Time> out;
  const sys_days newest = local_day(until);
  const sys_days oldest = std::max(local_day(after), newest - max_search);
  for (sys_days day = newest; !out && day >= oldest; day -= days{1}) {
    each_of_day(day, [&](Time at) {
      if (at > after && at <= until && (!out || at > *out)) out = at;
    });
  }
  return out;
}

}  // namespace inboxd::config
