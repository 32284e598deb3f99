#include "formats/avro_logical.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/uuid.hpp"

namespace inboxd::formats {
namespace {

using Logical = AvroType::Logical;

constexpr std::int64_t day_seconds = 86'400;
/// 0001-01-01 and 9999-12-31 in days since 1970.
constexpr std::int64_t first_day = -719'162, last_day = 2'932'896;

struct Unit {
  std::int64_t each_second = 1;
  int digits = 0;
};

Unit unit_of(Logical logical) {
  switch (logical) {
    case Logical::time_millis:
    case Logical::timestamp_millis:
    case Logical::local_millis: return {1'000, 3};
    case Logical::time_micros:
    case Logical::timestamp_micros:
    case Logical::local_micros: return {1'000'000, 6};
    case Logical::timestamp_nanos:
    case Logical::local_nanos: return {1'000'000'000, 9};
    default: return {};
  }
}

/// From 0 on.
std::int64_t modulo(std::int64_t number, std::int64_t by) { return (number % by + by) % by; }

std::int64_t floor_divide(std::int64_t number, std::int64_t by) {
  return number / by - (number % by < 0 ? 1 : 0);
}

void append_date(std::string& out, std::int64_t days) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  char text[16];
  std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  out += text;
}

void append_clock(std::string& out, std::int64_t seconds, std::int64_t fraction, int digits) {
  char text[40];
  std::snprintf(text, sizeof text, "%02d:%02d:%02d.%0*lld", static_cast<int>(seconds / 3600),
                static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60), digits,
                static_cast<long long>(fraction));
  out += text;
}

std::uint32_t little_endian(std::string_view bytes, std::size_t at) {
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out |= std::uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  return out;
}

/// The digits of a number of 32-bit words, highest word first; the words are used up.
std::string digits_of(std::vector<std::uint32_t>& words) {
  constexpr std::uint64_t billion = 1'000'000'000;
  std::string out;  // lowest digit first
  auto first = std::find_if(words.begin(), words.end(), [](std::uint32_t word) { return word != 0; });
  while (first != words.end()) {
    std::uint64_t rest = 0;
    for (auto word = first; word != words.end(); ++word) {
      const std::uint64_t part = rest << 32 | *word;
      *word = static_cast<std::uint32_t>(part / billion);
      rest = part % billion;
    }
    for (int i = 0; i < 9; ++i, rest /= 10) out += static_cast<char>('0' + rest % 10);
    first = std::find_if(first, words.end(), [](std::uint32_t word) { return word != 0; });
  }
  while (!out.empty() && out.back() == '0') out.pop_back();
  std::reverse(out.begin(), out.end());
  return out;
}

/// The number without its sign, in 32-bit words.
std::vector<std::uint32_t> magnitude(std::string_view bytes, bool is_negative) {
  std::vector<std::uint32_t> words((bytes.size() + 3) / 4);
  std::uint64_t carry = is_negative ? 1 : 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t at = bytes.size() - 1 - i;
    std::uint64_t byte = static_cast<unsigned char>(bytes[at]);
    if (is_negative) {
      byte = (~byte & 0xFF) + carry;
      carry = byte >> 8;
      byte &= 0xFF;
    }
    words[words.size() - 1 - i / 4] |= static_cast<std::uint32_t>(byte) << (8 * (i % 4));
  }
  return words;
}

}  // namespace

void append_time(std::string& out, Logical logical, std::int64_t number) {
  const Unit unit = unit_of(logical);
  const bool is_time = logical == Logical::time_millis || logical == Logical::time_micros;
  const std::int64_t seconds = floor_divide(number, unit.each_second);
  const std::int64_t days = logical == Logical::date ? number : is_time ? 0 : floor_divide(seconds, day_seconds);
  const bool is_of_day = !is_time || (seconds >= 0 && seconds < day_seconds);
  if (days < first_day || days > last_day || !is_of_day) {
    out += std::to_string(number);
    return;
  }
  out += '"';
  if (!is_time) append_date(out, days);
  if (logical != Logical::date) {
    if (!is_time) out += 'T';
    append_clock(out, seconds - days * day_seconds, modulo(number, unit.each_second), unit.digits);
  }
  const bool is_utc = logical == Logical::timestamp_millis || logical == Logical::timestamp_micros ||
                      logical == Logical::timestamp_nanos;
  out += is_utc ? "Z\"" : "\"";
}

void append_timestamp(std::string& out, std::int64_t seconds, std::int32_t nanos) {
  append_time(out, Logical::timestamp_millis, seconds * 1'000);
  out.resize(out.size() - std::strlen(".000Z\""));
  append_fraction(out, nanos);
  out += "Z\"";
}

void append_fraction(std::string& out, std::int32_t nanos) {
  if (nanos == 0) return;
  std::string digits = std::to_string(nanos);
  digits.insert(0, 9 - digits.size(), '0');
  while (digits.ends_with("000")) digits.resize(digits.size() - 3);
  (out += '.') += digits;
}

bool append_decimal(std::string& out, std::string_view bytes, std::size_t scale) {
  if (bytes.size() > max_decimal_bytes) return false;
  const bool is_negative = !bytes.empty() && (bytes[0] & '\x80') != 0;
  auto words = magnitude(bytes, is_negative);
  std::string digits = digits_of(words);
  if (digits.size() <= scale) digits.insert(0, scale + 1 - digits.size(), '0');
  out += is_negative ? "\"-" : "\"";
  out.append(digits, 0, digits.size() - scale);
  if (scale > 0) out.append(".").append(digits, digits.size() - scale);
  out += '"';
  return true;
}

void append_duration(std::string& out, std::string_view bytes) {
  const std::uint32_t millis = little_endian(bytes, 8);
  char text[64];
  std::snprintf(text, sizeof text, "\"P%uM%uDT%u.%03uS\"", little_endian(bytes, 0), little_endian(bytes, 4),
                millis / 1000, millis % 1000);
  out += text;
}

void append_uuid(std::string& out, std::string_view bytes) {
  base::Uuid uuid;
  std::memcpy(uuid.bytes.data(), bytes.data(), uuid.bytes.size());
  out.append("\"").append(uuid.text()).append("\"");
}

}  // namespace inboxd::formats
