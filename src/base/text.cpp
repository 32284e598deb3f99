#include "base/text.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace inboxd::base {
namespace {

/// The length of the well-formed UTF-8 sequence at the beginning, or 0.
std::size_t sequence_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && at(1) < 0xA0) return 0;
  if (first == 0xED && at(1) > 0x9F) return 0;
  if (first == 0xF0 && at(1) < 0x90) return 0;
  if (first == 0xF4 && at(1) > 0x8F) return 0;
  return length;
}

void append_hex_escape(std::string& out, unsigned char byte) {
  char text[8];
  std::snprintf(text, sizeof text, "\\x%02x", byte);
  out += text;
}

void append_json_escape(std::string& out, char32_t character) {
  char text[12];
  std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(character));
  out += text;
}

/// Whether a byte needs no escape in JSON: printable ASCII.
bool is_plain(char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; }

/// Whether the first eight bytes are ASCII: the fast path, because most text is ASCII.
bool begins_with_ascii_word(std::string_view bytes) {
  std::uint64_t word = 0;
  if (bytes.size() < sizeof word) return false;
  std::memcpy(&word, bytes.data(), sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

/// The character at the front if a terminal obeys it, or lets it reorder the text around it: DEL, the C1 controls, and
/// the marks of writing direction; else 0. `length` is that of the well-formed sequence at the front.
char32_t command_of_terminals(std::string_view text, std::size_t length) {
  const auto at = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(text[i])); };
  char32_t character = 0;
  if (length == 1) character = at(0);
  if (length == 2) character = (at(0) & 0x1F) << 6 | (at(1) & 0x3F);
  if (length == 3) character = (at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
  const auto between = [&](char32_t first, char32_t last) { return character >= first && character <= last; };
  const bool is_direction = character == 0x061C || between(0x200E, 0x200F) || between(0x202A, 0x202E) ||
                            between(0x2066, 0x2069);
  return between(0x7F, 0x9F) || is_direction ? character : 0;
}

/// Inside quotes, quotes and backslashes are escaped, so that a value cannot close its quotes and forge more facts.
enum class Quotes { outside, inside };

void append_escaped(std::string& out, std::string_view text, Quotes quotes) {
  out.reserve(out.size() + text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = sequence_length(text);
    if (byte == '\n') {
      out += "\\n";
    } else if (quotes == Quotes::inside && (byte == '"' || byte == '\\')) {
      out.append("\\").push_back(text[0]);
    } else if (byte < 0x20 || length == 0) {
      append_hex_escape(out, byte);
    } else if (command_of_terminals(text, length) != 0) {
      for (const char each : text.substr(0, length)) append_hex_escape(out, static_cast<unsigned char>(each));
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    if (begins_with_ascii_word(bytes)) {
      bytes.remove_prefix(8);
      continue;
    }
    const std::size_t length = static_cast<unsigned char>(bytes[0]) < 0x80 ? 1 : sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

bool is_database_text(std::string_view bytes) {
  return bytes.find('\0') == std::string_view::npos && is_utf8(bytes);
}

std::string escape_controls(std::string_view text) {
  std::string out;
  append_escaped(out, text, Quotes::outside);
  return out;
}

std::string escape_json_controls(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t length = std::max<std::size_t>(sequence_length(json), 1);
    if (const char32_t command = command_of_terminals(json, length); command != 0) {
      append_json_escape(out, command);
    } else {
      out.append(json.substr(0, length));
    }
    json.remove_prefix(length);
  }
  return out;
}

std::string quote_if_needed(std::string_view value) {
  std::string out = "\"";
  append_escaped(out, value, Quotes::inside);
  const bool plain = !value.empty() && out.size() == value.size() + 1 && value.find_first_of(" =") == value.npos;
  if (plain) return std::string{value};
  return out + '"';
}

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out) c = lower(c);
  return out;
}

std::string json_quote(std::string_view text) {
  std::string out;
  append_json_quoted(out, text);
  return out;
}

void append_json_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    // Most texts are plain to the end.
    const auto odd = std::find_if_not(text.begin(), text.end(), is_plain);
    out.append(text.begin(), odd);
    text.remove_prefix(static_cast<std::size_t>(odd - text.begin()));
    if (text.empty()) break;
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (byte == '"' || byte == '\\') {
      out.append("\\").push_back(text[0]);
    } else if (const char32_t command = byte < 0x20 ? byte : command_of_terminals(text, length);
               byte < 0x20 || command != 0) {
      append_json_escape(out, command);
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

std::string shorten(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string{text};
  std::size_t end = limit;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string{text.substr(0, end)} + "…";
}

std::string wrapped(const std::string& first, const std::string& next, std::string_view text) {
  constexpr std::size_t columns = 120;
  std::string out;
  std::string line = first;
  bool is_begun = false;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(' '), text.size());
    if (is_begun && line.size() + 1 + length > columns) {
      out += line + "\n";
      line = next;
      is_begun = false;
    }
    line.append(is_begun ? " " : "").append(text.substr(0, length));
    is_begun = true;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return out + line + "\n";
}

std::string hex(std::string_view bytes) {
  std::string out;
  append_hex(out, bytes);
  return out;
}

void append_hex(std::string& out, std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::size_t at = out.size();
  out.resize(at + bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out[at++] = digits[byte >> 4];
    out[at++] = digits[byte & 15];
  }
}

}  // namespace inboxd::base
