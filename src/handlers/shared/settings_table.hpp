#pragma once
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <inboxd/handler.hpp>
#include <string>
#include <string_view>

namespace handlers {

/// A setting of a shipped handler.
struct Setting {
  const char* name;
  std::string_view otherwise;  ///< the default as written in YAML, or `required` or `none`
  const char* meaning;         ///< Markdown, a row of the handler's page in config/handlers
};

inline constexpr std::string_view required = "required";
inline constexpr std::string_view none = "none";

/// The settings of a handler: its constructor takes the defaults from here, and its page is generated from here. A
/// setting without a default, or with another kind of default, does not compile.
template <std::size_t count>
struct SettingsTable {
  std::array<Setting, count> rows;

  consteval const char* text(std::string_view name) const {
    for (const Setting& each : rows) {
      if (each.name != name) continue;
      if (each.otherwise == required || each.otherwise == none) throw "the setting has no default";
      return each.otherwise.data();  // a literal, so it ends with a zero
    }
    throw "the table has no such setting";
  }

  consteval bool boolean(std::string_view name) const {
    const std::string_view value = text(name);
    if (value != "true" && value != "false") throw "the default is neither true nor false";
    return value == "true";
  }

  consteval std::int64_t number(std::string_view name) const { return number_in(text(name)); }

  consteval std::chrono::milliseconds duration(std::string_view name) const {
    std::string_view value = text(name);
    const char unit = value.back();
    value.remove_suffix(1);
    if (unit == 's') return std::chrono::seconds{number_in(value)};
    if (unit == 'h') return std::chrono::hours{number_in(value)};
    throw "the default has none of the units s and h";
  }

 private:
  static consteval std::int64_t number_in(std::string_view digits) {
    std::int64_t out = 0;
    for (const char digit : digits) {
      if (digit < '0' || digit > '9') throw "the default is no number";
      out = out * 10 + (digit - '0');
    }
    return out;
  }
};

template <std::size_t count>
SettingsTable(std::array<Setting, count>) -> SettingsTable<count>;

/// Refuses a name that is not in the table, before a required setting is missed: a misspelt name explains it. Returns
/// the settings. Throws inboxd::SettingsError.
template <std::size_t count>
const inboxd::Settings& known(const inboxd::Settings& settings, const SettingsTable<count>& table) {
  for (const Setting& each : table.rows) (void)settings.has(each.name);
  settings.finish();
  return settings;
}

/// Setting `payload`: whether the handler sends the payload as it came, or the JSON that a topic's format made of it.
inline bool is_raw(const std::string& text) {
  if (text != "raw" && text != "decoded") {
    throw inboxd::SettingsError{"setting 'payload' is '" + text + "'; it must be raw or decoded"};
  }
  return text == "raw";
}

}  // namespace handlers
