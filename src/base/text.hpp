#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inboxd::base {

/// Whether the bytes are well-formed UTF-8 (no overlong forms, no surrogates, at most U+10FFFF). NUL is well-formed.
bool is_utf8(std::string_view bytes);

/// Whether PostgreSQL takes the bytes as `text`: UTF-8 without NUL.
bool is_database_text(std::string_view bytes);

/// Escapes control characters, DEL, marks of writing direction and bytes that are not UTF-8 as `\xHH`, a newline as
/// `\n`. For anything shown to a person.
std::string escape_controls(std::string_view text);

/// Well-formed JSON with DEL, C1 controls and marks of writing direction, which it allows in strings, as `\uHHHH`: it
/// means the same, and no terminal obeys it.
std::string escape_json_controls(std::string_view json);

/// `escape_controls`, in double quotes if the value is empty or has a space, quote, backslash, `=` or escape. Quotes
/// and backslashes inside are escaped, so that a value cannot close its quotes.
std::string quote_if_needed(std::string_view value);

/// ASCII in lower case, independent of the locale; other bytes unchanged.
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
std::string lower(std::string_view text);

/// A JSON string literal. Bytes that are not UTF-8 become U+FFFD.
std::string json_quote(std::string_view text);
void append_json_quoted(std::string& out, std::string_view text);

/// `a, b, c`; `otherwise` if there are none.
template <class Words>
std::string joined(const Words& words, std::string_view otherwise = "") {
  std::string out;
  for (const std::string& word : words) out.append(out.empty() ? "" : ", ").append(word);
  return out.empty() ? std::string{otherwise} : out;
}

/// At most `limit` bytes, cut between characters, with `…` if anything was cut.
std::string shorten(std::string_view text, std::size_t limit);

/// The text in lines of at most 120 columns, broken at spaces. `first` begins the first line, `next` the others.
std::string wrapped(const std::string& first, const std::string& next, std::string_view text);

/// Lower-case hexadecimal digits, two a byte.
std::string hex(std::string_view bytes);
void append_hex(std::string& out, std::string_view bytes);

}  // namespace inboxd::base
