#pragma once
#include <algorithm>
#include <string_view>

#include "event/record.hpp"

namespace inboxd::event {

/// Iterates over the top members of a JSON object. Values are skipped by brackets and strings, however deep; nothing
/// else is validated.
class TopMembers final {
 public:
  explicit TopMembers(std::string_view json) : rest_{json} { is_at_end_ = !take('{'); }

  std::string_view name;
  std::string_view raw;  ///< the value's bytes
  MaybeBytes text;       ///< of the value, if it is a string without escapes

  bool next() {
    if (is_at_end_ || !string()) return false;
    name = string_;
    if (!take(':')) return false;
    const bool is_text = peek() == '"';
    const char* const begin = rest_.data();
    text = is_text && string() && string_.find('\\') == string_.npos ? MaybeBytes{string_} : std::nullopt;
    is_at_end_ = !skip_value();
    raw = std::string_view{begin, static_cast<std::size_t>(rest_.data() - begin)};
    raw.remove_suffix(raw.empty() ? 0 : 1);  // the comma or the bracket
    raw = raw.substr(0, raw.find_last_not_of(blanks) + 1);
    return true;
  }

 private:
  static constexpr std::string_view blanks = " \t\r\n";

  char peek() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size()));
    return rest_.empty() ? '\0' : rest_[0];
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool string() {
    if (!take('"')) return false;
    std::size_t end = 0;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return false;
    string_ = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }

  /// Moves past the comma after the value; false: there is none.
  bool skip_value() {
    for (std::size_t depth = 0; !rest_.empty();) {
      const char c = rest_[0];
      if (c == '"') {
        if (!string()) return false;
        continue;
      }
      rest_.remove_prefix(1);
      if (c == '{' || c == '[') ++depth;
      if (c == ',' && depth == 0) return true;
      if ((c == '}' || c == ']') && depth-- == 0) return false;
    }
    return false;
  }

  std::string_view rest_;
  std::string_view string_;
  bool is_at_end_ = false;
};

}  // namespace inboxd::event
