#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "config/settings.hpp"

namespace inboxd::config {

using Texts = std::vector<std::string>;
using TextMap = std::map<std::string, std::string>;

/// What one key holds. Which alternative it is follows from the key's type: choices and sizes are numbers (a choice the
/// index in its list).
using Value = std::variant<bool, std::int64_t, double, std::string, std::chrono::milliseconds, Retention::Keep, StartAt,
                           Secret, Texts, TextMap>;

/// A field of settings.hpp as a value and back. The first choice of an optional enumeration is "nothing".
template <class Field>
Value value_of(const Field& field) {
  if constexpr (std::is_same_v<Field, int> || std::is_same_v<Field, std::size_t>) {
    return static_cast<std::int64_t>(field);
  } else if constexpr (std::is_enum_v<Field>) {
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

}  // namespace inboxd::config
