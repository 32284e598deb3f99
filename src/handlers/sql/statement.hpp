#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sql_handler {

/// What the handler runs for the events of a call, and how to speak of it.
struct Statement {
  std::string setting;   ///< `statement` or `function`: where it stands in the configuration
  std::string text;      ///< sees relation `events`
  std::string function;  ///< as it was written; empty for a statement
};

/// Of the setting `statement`. Throws inboxd::SettingsError where no event could ever reach it.
Statement from_statement(std::string text);

/// Of the setting `function`, `schema.name`: one SELECT that calls it for each event, in order. The argument is a
/// row(...) of the columns of inbox.message, which PostgreSQL takes for that type: so the role needs no right to look
/// up the type's name. Throws inboxd::SettingsError where it is no such name.
Statement from_function(std::string name);

/// Where in a text a server's position is, counted as people and editors do, from 1.
struct Place {
  std::size_t line = 1;
  std::size_t column = 1;
  std::string_view rest;  ///< what stands there, to the end of the line
};
/// `position` is in characters and counts from 1; nothing where the text is not that long.
std::optional<Place> place_of(std::string_view text, std::uint32_t position);

}  // namespace sql_handler
