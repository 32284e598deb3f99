#pragma once
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "config/settings_table.hpp"

/// How the sources of the settings table write its rows. Included by them alone.
namespace inboxd::config {

void add_intake_rows(Table& table);   ///< database, kafka, topics, ingest
void add_format_rows(std::vector<Row<Topic>>& rows);  ///< topics[].value and topics[].key
void add_handler_rows(Table& table);  ///< dispatch, handlers
void add_service_rows(Table& table);  ///< admin, tracing, retention, log, shutdown, liveness

namespace rows {

// In milliseconds and bytes.
constexpr std::int64_t second = 1'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t kibibyte = 1 << 10;
constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t gibibyte = 1 << 30;

inline Description plain(std::string key, Type type, std::string help) {
  Description about;
  about.key = std::move(key);
  about.type = type;
  about.help = std::move(help);
  return about;
}

inline Description text(std::string key, Exposure exposure, std::string help) {
  Description about = plain(std::move(key), Type::text, std::move(help));
  about.exposure = exposure;
  return about;
}
/// A text that holds no secret: a name, a path, an expression.
inline Description name(std::string key, std::string help) {
  return text(std::move(key), Exposure::whole, std::move(help));
}
inline Description names(std::string key, std::string help) {
  Description about = name(std::move(key), std::move(help));
  about.type = Type::texts;
  return about;
}
inline Description flag(std::string key, std::string help) {
  return plain(std::move(key), Type::flag, std::move(help));
}

inline Description ranged(Type type, std::string key, std::int64_t least, std::int64_t most, std::string help) {
  Description about = plain(std::move(key), type, std::move(help));
  about.least = least;
  about.most = most;
  return about;
}

inline Description number(std::string key, std::int64_t least, std::int64_t most, std::string help) {
  return ranged(Type::number, std::move(key), least, most, std::move(help));
}
inline Description duration(std::string key, std::int64_t least, std::int64_t most, std::string help) {
  return ranged(Type::duration, std::move(key), least, most, std::move(help));
}
inline Description size(std::string key, std::int64_t least, std::int64_t most, std::string help) {
  return ranged(Type::size, std::move(key), least, most, std::move(help));
}
inline Description keep(std::string key, std::string help, std::int64_t least = hour) {
  return ranged(Type::keep, std::move(key), least, 36'500 * day, std::move(help));
}

inline Description choice(std::string key, std::vector<std::string> choices, std::string help) {
  Description about = plain(std::move(key), Type::choice, std::move(help));
  about.choices = std::move(choices);
  return about;
}
inline Description start(std::vector<std::string> choices, std::string help) {
  Description about = choice("start", std::move(choices), std::move(help));
  about.type = Type::start;
  return about;
}

inline Description shaped(Description about, std::string pattern, std::string wanted) {
  about.pattern = std::move(pattern);
  about.wanted = std::move(wanted);
  return about;
}
inline Description example(std::string yaml, Description about) {
  about.example = std::move(yaml);
  return about;
}
inline Description minimal(std::string yaml, Description about) {
  about.is_in_minimal = true;
  return example(std::move(yaml), std::move(about));
}
inline Description required(std::string yaml, Description about) {
  about.is_required = true;
  return minimal(std::move(yaml), std::move(about));
}
inline Description restart(Description about) {
  about.needs_restart = true;
  return about;
}
inline Description common(Description about) {
  about.has_common_default = true;
  return about;
}

/// A field of settings.hpp as a value and back. The first choice of an optional enumeration means "nothing".
template <class Field>
Value value_of(const Field& field) {
  if constexpr (std::is_same_v<Field, int> || std::is_same_v<Field, std::size_t> || std::is_enum_v<Field>) {
    return static_cast<std::int64_t>(field);
  } else if constexpr (std::is_same_v<Field, std::optional<base::LogFormat>>) {
    return field ? static_cast<std::int64_t>(*field) + 1 : std::int64_t{0};
  } else {
    return field;
  }
}
template <class Field>
void set_value(Field& field, const Value& value) {
  if constexpr (std::is_same_v<Field, int> || std::is_same_v<Field, std::size_t> || std::is_enum_v<Field>) {
    field = static_cast<Field>(std::get<std::int64_t>(value));
  } else if constexpr (std::is_same_v<Field, std::optional<base::LogFormat>>) {
    const auto index = std::get<std::int64_t>(value);
    field = index == 0 ? Field{} : Field{static_cast<base::LogFormat>(index - 1)};
  } else {
    field = std::get<Field>(value);
  }
}

template <class Owner>
auto& reach(Owner& owner) {
  return owner;
}
template <class Owner, class Member, class... Members>
auto& reach(Owner& owner, Member member, Members... members) {
  return reach(owner.*member, members...);
}

/// A row for the field that its owner reaches through these members.
template <class Owner, class... Members>
Row<Owner> row(Description about, Members... members) {
  return {std::move(about), [=](const Owner& owner) { return value_of(reach(owner, members...)); },
          [=](Owner& owner, const Value& value) { set_value(reach(owner, members...), value); }};
}

}  // namespace rows
}  // namespace inboxd::config
