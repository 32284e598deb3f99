#include "sql_failure.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sql_handler {
namespace {

using inboxd::Milliseconds;

constexpr std::string_view retry_state = "IR001";
constexpr std::string_view dead_state = "ID001";
constexpr std::string_view not_json = "sql.not_json";
constexpr std::int64_t max_delay_ms = INBOXD_MAX_DELAY_MS;

std::string text_of(inboxd_bytes bytes) { return bytes.data == nullptr ? "" : std::string{bytes.data, bytes.size}; }

bool is_of(const Failure& failure, std::string_view error_class) {
  return failure.sqlstate.substr(0, 2) == error_class;
}

/// Timeouts and memory: fewer events may fit.
bool takes_too_much(const Failure& failure) { return failure.sqlstate == "57014" || failure.sqlstate == "53200"; }

/// Takes digits off the beginning of `text`; -1 if there are none or too many.
std::int64_t take_number(std::string_view& text) {
  std::int64_t number = 0;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    if (digits == 12) return -1;
    number = number * 10 + (text[digits] - '0');
  }
  text.remove_prefix(digits);
  return digits == 0 ? -1 : number;
}

/// `00:05:00`, an interval's text, after its hours.
std::optional<Milliseconds> clock_of(std::int64_t hours, std::string_view rest) {
  std::array<std::int64_t, 2> parts{};
  for (std::int64_t& part : parts) {
    if (rest.empty() || rest.front() != ':') return std::nullopt;
    rest.remove_prefix(1);
    part = take_number(rest);
    if (part < 0 || part > 59) return std::nullopt;
  }
  const std::int64_t milliseconds = ((hours * 60 + parts[0]) * 60 + parts[1]) * 1000;
  if (!rest.empty() || milliseconds > max_delay_ms) return std::nullopt;
  return Milliseconds{milliseconds};
}

/// `250ms 30s 5m 12h 7d`, or an interval's `00:05:00`.
std::optional<Milliseconds> duration_of(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::int64_t milliseconds;
  };
  static constexpr std::array<Unit, 5> units{
      {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
  const std::int64_t number = take_number(text);
  if (number < 0) return std::nullopt;
  if (!text.empty() && text.front() == ':') return clock_of(number, text);
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& each) { return each.name == text; });
  if (unit == units.end() || number > max_delay_ms / unit->milliseconds) return std::nullopt;
  return Milliseconds{number * unit->milliseconds};
}

bool is_state_or_class(std::string_view text) {
  const auto fits = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
  return (text.size() == 2 || text.size() == 5) && std::all_of(text.begin(), text.end(), fits);
}

std::string facts_of(const Failure& failure) {
  std::string out = " (SQLSTATE " + failure.sqlstate;
  if (!failure.constraint.empty()) out += ", constraint " + failure.constraint;
  if (!failure.table.empty()) out += ", table " + failure.table;
  if (!failure.column.empty()) out += ", column " + failure.column;
  return out + ")";
}

}  // namespace

Failure::Failure(const inboxd_sql_error& error)
    : sqlstate{text_of(error.sqlstate)},
      message{text_of(error.message)},
      detail{text_of(error.detail)},
      hint{text_of(error.hint)},
      table{error.schema.data == nullptr || error.table.data == nullptr
                ? text_of(error.table)
                : text_of(error.schema) + "." + text_of(error.table)},
      column{text_of(error.column)},
      constraint{text_of(error.constraint)},
      position{error.position},
      will_repeat{error.will_repeat != 0},
      not_run{error.not_run != 0} {}

bool depends_on_events(const Failure& failure) {
  if (failure.not_run) return false;
  return takes_too_much(failure) || !is_passing(failure);
}

bool is_passing(const Failure& failure) {
  return is_of(failure, "08") || is_of(failure, "40") || is_of(failure, "53") || is_of(failure, "57") ||
         is_of(failure, "58") || failure.sqlstate == "55P03";
}

Permanent::Permanent(std::string_view list) {
  static constexpr std::string_view between = "[]\", ";
  for (std::string_view rest = list; true;) {
    rest.remove_prefix(std::min(rest.find_first_not_of(between), rest.size()));
    if (rest.empty()) return;
    const std::string_view entry = rest.substr(0, rest.find_first_of(between));
    if (!is_state_or_class(entry)) {
      throw inboxd::SettingsError{"setting 'permanent' is '" + std::string{list} +
                                  "'; it must be a list of SQLSTATEs or of their classes, the first two characters: "
                                  "[\"22\", \"23505\"]"};
    }
    entries_.emplace_back(entry);
    rest.remove_prefix(entry.size());
  }
}

bool Permanent::has(std::string_view sqlstate) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const std::string& entry) { return sqlstate.substr(0, entry.size()) == entry; });
}

inboxd::Outcome outcome_of(const Failure& failure, const Permanent& permanent) {
  // Of data exceptions PostgreSQL's message quotes the value: only the first line of a message is logged.
  const bool quotes = is_of(failure, "22");
  std::string message = (quotes ? "the statement refuses a value:\n" : "") + failure.message + facts_of(failure);
  std::string error_class = "sql." + failure.sqlstate;
  if (failure.sqlstate == INBOXD_SQL_NOT_JSON) {
    return inboxd::dead(failure.message + "; with setting 'body: optional' its body is null instead",
                        std::string{not_json});
  }
  if (failure.sqlstate == dead_state) return inboxd::dead(failure.message, std::move(error_class));
  if (permanent.has(failure.sqlstate)) return inboxd::dead(std::move(message), std::move(error_class));
  if (failure.sqlstate != retry_state) return inboxd::retry(std::move(message), std::move(error_class));
  if (failure.detail.empty()) return inboxd::retry(failure.message, std::move(error_class));
  if (const auto delay = duration_of(failure.detail)) {
    return inboxd::retry(*delay, failure.message, std::move(error_class));
  }
  return inboxd::retry(failure.message +
                           " (its DETAIL is not a duration such as 30s or 00:05:00; the configured backoff "
                           "applies)",
                       std::move(error_class));
}

}  // namespace sql_handler
