#include "config/units.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <span>

namespace inboxd::config {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  std::int64_t factor;
};

// Largest first: a value is written in the largest unit that divides it.
constexpr std::array duration_units{Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                                    Unit{"ms", 1}};
constexpr std::array size_units{Unit{"GiB", 1 << 30}, Unit{"MiB", 1 << 20}, Unit{"KiB", 1 << 10}, Unit{"B", 1}};
constexpr std::int64_t max_duration = 36'500 * duration_units.front().factor;
constexpr std::int64_t largest_size = std::int64_t{1} << 50;

std::optional<std::int64_t> parse_with_unit(std::string_view text, std::span<const Unit> units, std::int64_t limit) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || number < 0) return std::nullopt;
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (unit.name == name) {
      if (number > limit / unit.factor) return std::nullopt;
      return number * unit.factor;
    }
  }
  return std::nullopt;
}

std::string text_with_unit(std::int64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) return std::to_string(value / unit.factor).append(unit.name);
  }
  return "0" + std::string{units.back().name};
}

/// Reads a timestamp from left to right; after the first mismatch every read fails.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : left_{text} {}

  int number(std::size_t digits) {
    int value = 0;
    if (left_.size() < digits) return fail();
    for (const char digit : left_.substr(0, digits)) {
      if (digit < '0' || digit > '9') return fail();
      value = value * 10 + (digit - '0');
    }
    left_.remove_prefix(digits);
    return value;
  }

  bool take(std::string_view any_of) {
    if (left_.empty() || any_of.find(left_.front()) == std::string_view::npos) return false;
    left_.remove_prefix(1);
    return true;
  }

  void expect(std::string_view any_of) {
    if (!take(any_of)) fail();
  }

  /// The digits after a decimal point, in millionths.
  std::int64_t fraction() {
    std::int64_t value = 0;
    int digits = 0;
    for (; !left_.empty() && left_.front() >= '0' && left_.front() <= '9'; ++digits) {
      if (digits < 6) value = value * 10 + (left_.front() - '0');
      left_.remove_prefix(1);
    }
    if (digits == 0) fail();
    for (; digits < 6; ++digits) value *= 10;
    return value;
  }

  std::chrono::minutes offset() {
    if (take("Zz")) return std::chrono::minutes{0};
    const bool minus = take("-");
    if (!minus) expect("+");
    const int hours = number(2);
    expect(":");
    const int minutes = number(2);
    if (hours > 23 || minutes > 59) fail();
    const std::chrono::minutes away{hours * 60 + minutes};
    return minus ? -away : away;
  }

  bool at_end() const { return !failed_ && left_.empty(); }

 private:
  int fail() {
    failed_ = true;
    left_ = {};
    return 0;
  }

  std::string_view left_;
  bool failed_ = false;
};

}  // namespace

std::optional<milliseconds> parse_duration(std::string_view text) {
  const auto value = parse_with_unit(text, duration_units, max_duration);
  return value ? std::optional{milliseconds{*value}} : std::nullopt;
}

std::string duration_text(milliseconds duration) { return text_with_unit(duration.count(), duration_units); }

std::optional<std::int64_t> parse_size(std::string_view text) {
  return parse_with_unit(text, size_units, largest_size);
}

std::string size_text(std::int64_t bytes) { return text_with_unit(bytes, size_units); }

std::optional<std::int64_t> parse_time(std::string_view text) {
  using namespace std::chrono;
  Cursor cursor{text};
  const int year_number = cursor.number(4);
  cursor.expect("-");
  const int month_number = cursor.number(2);
  cursor.expect("-");
  const int day_number = cursor.number(2);
  cursor.expect("Tt ");
  const int hour_number = cursor.number(2);
  cursor.expect(":");
  const int minute_number = cursor.number(2);
  cursor.expect(":");
  const int second_number = cursor.number(2);
  const std::int64_t fraction = cursor.take(".") ? cursor.fraction() : 0;
  const minutes offset = cursor.offset();
  const year_month_day date{year{year_number}, month{static_cast<unsigned>(month_number)},
                            day{static_cast<unsigned>(day_number)}};
  if (!cursor.at_end() || !date.ok() || hour_number > 23 || minute_number > 59 || second_number > 59) {
    return std::nullopt;
  }
  const auto since =
      sys_days{date}.time_since_epoch() + hours{hour_number} + minutes{minute_number} + seconds{second_number} - offset;
  return duration_cast<microseconds>(since).count() + fraction;
}

std::string time_text(std::int64_t microseconds_since) {
  using namespace std::chrono;
  const sys_time<microseconds> when{microseconds{microseconds_since}};
  const auto midnight = floor<days>(when);
  // 64-bit microseconds reach the year 294247, std::chrono's years end at 32767: use the same day of an earlier era.
  constexpr std::int64_t era_days = 146'097;
  constexpr std::int64_t era_years = 400;
  const std::int64_t day = midnight.time_since_epoch().count();
  const std::int64_t eras = day / era_days;
  const year_month_day date{sys_days{days{static_cast<int>(day % era_days)}}};
  const std::int64_t year_number = static_cast<int>(date.year()) + eras * era_years;
  constexpr std::int64_t day_microseconds = 86'400'000'000;
  const hh_mm_ss time{microseconds{(microseconds_since % day_microseconds + day_microseconds) % day_microseconds}};
  std::array<char, 64> out{};
  std::snprintf(out.data(), out.size(), "%04lld-%02u-%02uT%02d:%02d:%02d", static_cast<long long>(year_number),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
                static_cast<int>(time.seconds().count()));
  std::string text{out.data()};
  if (const auto fraction = time.subseconds().count(); fraction != 0) {
    std::snprintf(out.data(), out.size(), ".%06d", static_cast<int>(fraction));
    text += out.data();
    while (text.back() == '0') text.pop_back();
  }
  return text + "Z";
}

}  // namespace inboxd::config
