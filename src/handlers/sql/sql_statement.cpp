#include "sql_statement.hpp"

#include <algorithm>
#include <cctype>
#include <inboxd/handler.hpp>
#include <vector>

namespace sql_handler {
namespace {

constexpr std::string_view relation = "events";

constexpr std::string_view message_row =
    "row(event_id, source_id, topic, partition, \"offset\", event_type, source, subject, key, payload, body, headers, "
    "occurred_at, received_at, attempt, key_bytes)";

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || (c & 0x80) != 0; }

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// Whether the text contains the word, even in a comment or a string: good enough for a hint; the server decides.
bool mentions(std::string_view text, std::string_view word) {
  const std::string folded = lower(text);
  for (std::size_t at = folded.find(word); at != std::string::npos; at = folded.find(word, at + 1)) {
    const bool begins = at == 0 || !is_word(folded[at - 1]);
    const std::size_t end = at + word.size();
    if (begins && (end == folded.size() || !is_word(folded[end]))) return true;
  }
  return false;
}

/// The length of the name, quoted or not, at the beginning of the text; 0: none.
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

bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '$'; }

Statement from_statement(std::string text) {
  if (!mentions(text, relation)) {
    throw inboxd::SettingsError{
        "setting 'statement' does not mention relation 'events', which holds the events of the call; for example: "
        "insert into receipt select event_id, body->>'orderId' from events"};
  }
  const bool uses_body = mentions(text, "body");
  return {"statement", std::move(text), {}, uses_body};
}

Statement from_function(std::string name) {
  if (!is_qualified_name(name)) {
    throw inboxd::SettingsError{"setting 'function' is '" + name +
                                "'; it must be schema.name of a function, without parentheses: billing.on_order"};
  }
  std::string text = "select " + name + "(" + std::string{message_row} + ") from events";
  return {"function", std::move(text), std::move(name), true};
}

std::optional<Place> place_of(std::string_view text, std::uint32_t position) {
  if (position == 0) return std::nullopt;
  std::size_t at = 0;
  for (std::uint32_t character = 1; character < position; ++character) {
    if (at >= text.size()) return std::nullopt;
    ++at;
    while (at < text.size() && continues_character(text[at])) ++at;
  }
  return place_at(text, at);
}

Place place_at(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t line_begin = before.rfind('\n') + 1;  // 0 without a line break
  Place place;
  place.line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  place.column += static_cast<std::size_t>(std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_begin),
                                                         before.end(), [](char c) { return !continues_character(c); }));
  place.at = at;
  place.rest = text.substr(at, text.find('\n', at) - at);
  return place;
}

}  // namespace sql_handler
