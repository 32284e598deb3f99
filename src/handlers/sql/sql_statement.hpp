#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sql_handler {

/// The statement of a handler, and its names in messages.
struct Statement {
  std::string setting;         ///< `statement` or `function`
  std::string text;            ///< sees relation `events`
  std::string function;        ///< as written; empty for a statement
  bool requires_json = false;  ///< an event whose payload is not JSON fails; setting `body`
};

/// Of setting `statement`; requires JSON if it mentions `body`. Throws inboxd::SettingsError if no event could ever
/// reach it.
Statement from_statement(std::string text);

/// Of setting `function`, `schema.name`: a single SELECT that calls it for each event, in order. Its argument is a
/// row(...) of the columns of inbox.message, which PostgreSQL accepts for that type, so the role needs no right to the
/// type's name. Throws inboxd::SettingsError if the name is invalid.
Statement from_function(std::string name);

/// A position in a text, as people and editors count: from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
  std::size_t at = 0;     ///< in bytes, from 0
  std::string_view rest;  ///< from there to the end of the line
};
/// `position` counts characters from 1; nullopt if the text is shorter.
std::optional<Place> place_of(std::string_view text, std::uint32_t position);
/// Of a byte, from 0.
Place place_at(std::string_view text, std::size_t at);

/// Whether a character may be part of a name, after its first.
bool is_word(char c);
/// Whether it is a continuation byte of UTF-8.
inline bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace sql_handler
