#include "envelope/body.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "event/top_members.hpp"

namespace inboxd::envelope {
namespace {

using config::Unwrap;

std::string_view without_blanks(std::string_view json) {
  constexpr std::string_view blanks = " \t\r\n";
  json.remove_prefix(std::min(json.find_first_not_of(blanks), json.size()));
  return json.substr(0, json.find_last_not_of(blanks) + 1);
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    tail(12), tail(6), tail(0);
  }
}

/// The four digits after `\u`, which the grammar has checked.
std::uint32_t code_at(std::string_view text, std::size_t at) {
  std::uint32_t out = 0;
  std::from_chars(text.data() + at, text.data() + at + 4, out, 16);
  return out;
}

/// The text of a JSON string; nullopt: it holds a lone surrogate.
std::optional<std::string> unescaped(std::string_view json) {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  const std::string_view text = json.substr(1, json.size() - 2);
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      out += text[at];
      continue;
    }
    if (text[++at] != 'u') {
      out += meanings[letters.find(text[at])];
      continue;
    }
    std::uint32_t code = code_at(text, at + 1);
    at += 4;
    if (code >= 0xD800 && code < 0xDC00 && text.substr(at + 1).starts_with("\\u") ) {
      const std::uint32_t low = code_at(text, at + 3);
      if (low < 0xDC00 || low > 0xDFFF) return std::nullopt;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      at += 6;
    }
    if (code >= 0xD800 && code < 0xE000) return std::nullopt;
    append_utf8(out, code);
  }
  return out;
}

/// {"schema": …, "payload": …} of a converter: the payload. nullopt: it is something else.
std::optional<std::string_view> payload_in(std::string_view json, Unwrap unwrap) {
  std::optional<std::string_view> schema, payload;
  std::size_t others = 0;
  for (event::TopMembers members{json}; members.next();) {
    if (members.name == "schema") schema = members.raw;
    else if (members.name == "payload") payload = members.raw;
    else ++others;
    if (others > 0 && unwrap != Unwrap::schema_payload) return std::nullopt;
  }
  if (!schema || !payload) return std::nullopt;
  if (unwrap == Unwrap::schema_payload || *schema == "null") return payload;
  for (event::TopMembers members{*schema}; members.next();) {
    if (members.name == "type") return payload;
  }
  return std::nullopt;
}

/// The JSON inside of a JSON string.
std::optional<std::string> inside(std::string_view json, Unwrap unwrap) {
  auto text = unescaped(json);
  if (!text) return std::nullopt;
  const std::string_view value = without_blanks(*text);
  const bool is_container = value.starts_with('{') || value.starts_with('[');
  if (unwrap != Unwrap::json_string && !is_container) return std::nullopt;
  return event::json_in(value).is_json() ? std::optional{std::string{value}} : std::nullopt;
}

}  // namespace

event::JsonText body_in(std::string_view payload, Unwrap unwrap, std::string& storage) {
  event::JsonText out = event::json_in(payload);
  if (!out.is_json() || unwrap == Unwrap::none) return out;
  std::string_view value = without_blanks(out.text);
  if (value.starts_with('{') && unwrap != Unwrap::json_string) {
    const auto inner = payload_in(value, unwrap);
    if (!inner) return out;
    out.text = value = *inner;
  }
  if (!value.starts_with('"')) return out;
  if (auto inner = inside(value, unwrap)) {
    storage = *std::move(inner);
    out.text = storage;
  }
  return out;
}

}  // namespace inboxd::envelope
