#include "envelope/time.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>

namespace inboxd::envelope {
namespace {

constexpr event::Microseconds second = 1'000'000;

/// Reads a time's fields from the front.
class Fields final {
 public:
  explicit Fields(std::string_view text) : left_{text} {}

  bool done() const { return left_.empty(); }

  bool take(std::string_view choices) {
    if (left_.empty() || choices.find(left_[0]) == choices.npos) return false;
    left_.remove_prefix(1);
    return true;
  }

  /// Exactly `digits` digits, with a value of at most `most`.
  bool number(std::size_t digits, int most, int& out) {
    if (left_.size() < digits) return false;
    out = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (left_[i] < '0' || left_[i] > '9') return false;
      out = out * 10 + (left_[i] - '0');
    }
    left_.remove_prefix(digits);
    return out <= most;
  }

  /// A month's English name of three letters, as its number.
  bool month(int& out) {
    constexpr std::string_view names = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const std::size_t at = left_.size() < 3 ? names.npos : names.find(left_.substr(0, 3));
    if (at == names.npos || at % 3 != 0) return false;
    left_.remove_prefix(3);
    out = static_cast<int>(at / 3) + 1;
    return true;
  }

  /// Any number of digits; digits after the sixth are ignored.
  bool fraction(event::Microseconds& out) {
    std::size_t digits = 0;
    out = 0;
    for (event::Microseconds unit = second / 10; !left_.empty() && left_[0] >= '0' && left_[0] <= '9'; ++digits) {
      out += unit * (left_[0] - '0');
      unit /= 10;
      left_.remove_prefix(1);
    }
    return digits > 0;
  }

 private:
  std::string_view left_;
};

/// `Z` or `+02:00`, in seconds east of UTC.
bool take_zone(Fields& fields, int& seconds_east) {
  seconds_east = 0;
  if (fields.take("Zz")) return true;
  const bool west = fields.take("-");
  if (!west && !fields.take("+")) return false;
  int hours = 0;
  int minutes = 0;
  if (!fields.number(2, 23, hours) || !fields.take(":") || !fields.number(2, 59, minutes)) return false;
  seconds_east = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
  return true;
}

struct DateTime {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, seconds = 0;
  int zone = 0;                                ///< seconds east of UTC
  event::Microseconds fraction = 0;
};

/// Second 60, a leap second, becomes the first of the next minute.
bool take_clock(Fields& fields, DateTime& out) {
  return fields.number(2, 23, out.hour) && fields.take(":") && fields.number(2, 59, out.minute) && fields.take(":") &&
         fields.number(2, 60, out.seconds);
}

std::optional<event::Microseconds> since_1970(const DateTime& at) {
  const std::chrono::year_month_day date{std::chrono::year{at.year},
                                         std::chrono::month{static_cast<unsigned>(at.month)},
                                         std::chrono::day{static_cast<unsigned>(at.day)}};
  if (!date.ok()) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days{date}.time_since_epoch().count();
  return (days * 86'400 + at.hour * 3600 + at.minute * 60 + at.seconds - at.zone) * second + at.fraction;
}

/// By its magnitude: the ranges from 1973 to 5138 of seconds, milliseconds and microseconds do not overlap.
config::TimeUnit unit_of(std::int64_t number) {
  constexpr std::int64_t factor = 1'000, max_epoch_seconds = 100'000'000'000;
  const std::int64_t amount = number < 0 ? -std::max(number, -std::numeric_limits<std::int64_t>::max()) : number;
  if (amount < max_epoch_seconds) return config::TimeUnit::s;
  if (amount < max_epoch_seconds * factor) return config::TimeUnit::ms;
  return amount < max_epoch_seconds * factor * factor ? config::TimeUnit::us : config::TimeUnit::ns;
}

/// `digits`: the digits after the point.
std::optional<event::Microseconds> since_1970(std::int64_t number, std::string_view digits, config::TimeUnit unit) {
  if (unit == config::TimeUnit::automatic) unit = unit_of(number);
  const bool is_nanoseconds = unit == config::TimeUnit::ns;
  const event::Microseconds factor = unit == config::TimeUnit::s ? second : unit == config::TimeUnit::ms ? 1'000 : 1;
  event::Microseconds out = 0;
  if (is_nanoseconds) return number / 1'000 - (number % 1'000 < 0 ? 1 : 0);
  if (__builtin_mul_overflow(number, factor, &out)) return std::nullopt;
  event::Microseconds part = factor;
  for (const char digit : digits) out += (number < 0 ? -1 : 1) * (part /= 10) * (digit - '0');
  return out;
}

/// A whole or a decimal number.
std::optional<event::Microseconds> parse_number(std::string_view text, config::TimeUnit unit) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  std::string_view digits{end, text.data() + text.size()};
  if (digits.empty()) return since_1970(number, digits, unit);
  const bool is_decimal = digits[0] == '.' && digits.size() > 1 &&
                          digits.find_first_not_of("0123456789", 1) == std::string_view::npos;
  return is_decimal ? since_1970(number, digits.substr(1), unit) : std::nullopt;
}

}  // namespace

std::optional<event::Microseconds> parse_rfc3339(std::string_view text) {
  Fields fields{text};
  DateTime out;
  if (!fields.number(4, 9999, out.year) || !fields.take("-") || !fields.number(2, 12, out.month) ||
      !fields.take("-") || !fields.number(2, 31, out.day) || !fields.take("Tt ") || !take_clock(fields, out)) {
    return std::nullopt;
  }
  if (fields.take(".") && !fields.fraction(out.fraction)) return std::nullopt;
  if (!take_zone(fields, out.zone) || !fields.done()) return std::nullopt;
  return since_1970(out);
}

std::optional<event::Microseconds> parse_nservicebus_time(std::string_view text) {
  constexpr std::size_t seconds_end = 19, blank = 26, length = 28;
  if (text.size() != length || text[seconds_end] != ':' || !text.ends_with(" Z")) return parse_rfc3339(text);
  std::array<char, length> rfc3339{};
  std::copy(text.begin(), text.end(), rfc3339.begin());
  rfc3339[seconds_end] = '.';
  rfc3339[blank] = 'Z';
  return parse_rfc3339({rfc3339.data(), blank + 1});
}

std::optional<event::Microseconds> parse_http_date(std::string_view text) {
  const std::size_t day_of_week = text.find(", ");
  if (day_of_week == text.npos) return std::nullopt;
  Fields fields{text.substr(day_of_week + 2)};
  DateTime out;
  if ((!fields.number(2, 31, out.day) && !fields.number(1, 9, out.day)) || !fields.take(" ") ||
      !fields.month(out.month) || !fields.take(" ") || !fields.number(4, 9999, out.year) || !fields.take(" ") ||
      !take_clock(fields, out) || !fields.take(" ") || !fields.take("G") || !fields.take("M") || !fields.take("T")) {
    return std::nullopt;
  }
  return fields.done() ? since_1970(out) : std::nullopt;
}

std::optional<event::Microseconds> time_of(std::int64_t number) {
  return since_1970(number, "", config::TimeUnit::automatic);
}

std::optional<event::Microseconds> parse_time(std::string_view text, config::TimeUnit unit) {
  const auto number = parse_number(text, unit);
  return number ? number : parse_rfc3339(text);
}

}  // namespace inboxd::envelope
