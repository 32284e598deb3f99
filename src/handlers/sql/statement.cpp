#include "statement.hpp"

#include <algorithm>
#include <cctype>
#include <inboxd/handler.hpp>
#include <vector>

namespace sql_handler {
namespace {

constexpr std::string_view relation = "events";

constexpr std::string_view message_row =
    "row(event_id, source_id, topic, partition, \"offset\", event_type, source, subject, key, payload, body, headers, "
    "occurred_at, received_at, attempt)";

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '$'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// Whether the word stands in the text. It may stand in a comment or a string, too: this finds what was forgotten, the
/// server decides what is right.
bool mentions(std::string_view text, std::string_view word) {
  const std::string folded = lower(text);
  for (std::size_t at = folded.find(word); at != std::string::npos; at = folded.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word(folded[at - 1]);
    const std::size_t end = at + word.size();
    if (begins && (end == folded.size() || !is_word(folded[end]))) return true;
  }
  return false;
}

/// The length of the name that the text begins with, quoted or not; 0 where it begins with none.
std::size_t name_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text.front() != '"') {
    if (!is_letter(text.front())) return 0;
    return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin());
  }
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != '"') continue;
    if (at + 1 == text.size() || text[at + 1] != '"') return at > 1 ? at + 1 : 0;
    ++at;
  }
  return 0;
}

bool is_qualified_name(std::string_view text) {
  const std::size_t schema = name_length(text);
  if (schema == 0 || schema == text.size() || text[schema] != '.') return false;
  const std::string_view name = text.substr(schema + 1);
  return !name.empty() && name_length(name) == name.size();
}

}  // namespace

Statement from_statement(std::string text) {
  if (!mentions(text, relation)) {
    throw inboxd::SettingsError{
        "setting 'statement' does not mention the relation 'events', in which it finds the events of a call: insert "
        "into receipt select event_id, body->>'orderId' from events"};
  }
  return {"statement", std::move(text), {}};
}

Statement from_function(std::string name) {
  if (!is_qualified_name(name)) {
    throw inboxd::SettingsError{"setting 'function' is '" + name +
                                "'; it must be the name of a function with its schema, without parentheses: "
                                "billing.on_order"};
  }
  std::string text = "select " + name + "(" + std::string{message_row} + ") from events";
  return {"function", std::move(text), std::move(name)};
}

std::optional<Place> place_of(std::string_view text, std::uint32_t position) {
  if (position == 0) return std::nullopt;
  Place place;
  std::size_t at = 0;
  for (std::uint32_t character = 1; character < position; ++character) {
    if (at >= text.size()) return std::nullopt;
    const bool ends_line = text[at] == '\n';
    ++at;
    while (at < text.size() && continues_character(text[at])) ++at;
    place.line += ends_line ? 1 : 0;
    place.column = ends_line ? 1 : place.column + 1;
  }
  place.rest = text.substr(at, text.find('\n', at) - at);
  return place;
}

}  // namespace sql_handler
