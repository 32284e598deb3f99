#include "json_members.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace handlers {
namespace {

/// Reads JSON from the front.
class Cursor {
 public:
  explicit Cursor(std::string_view json) : rest_{json} { skip_blanks(); }

  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  void skip(std::size_t count) {
    rest_.remove_prefix(std::min(count, rest_.size()));
    skip_blanks();
  }
  /// The value at the front, whatever its depth; moves past it.
  std::string_view value() {
    std::size_t end = 0;
    for (std::size_t depth = 0; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (c == '"') {
        end = end_of_string(end);
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']')) {
        break;
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
    std::string_view out = rest_.substr(0, end);
    out.remove_suffix(out.size() - std::min(out.find_last_not_of(blanks) + 1, out.size()));
    skip(end);
    return out;
  }

 private:
  static constexpr std::string_view blanks = " \t\r\n";
  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(blanks), rest_.size())); }
  /// The place of its closing quote.
  std::size_t end_of_string(std::size_t at) const {
    for (++at; at < rest_.size() && rest_[at] != '"'; ++at) at += rest_[at] == '\\' ? 1 : 0;
    return at;
  }
  std::string_view rest_;
};

}  // namespace

std::vector<JsonMember> json_members(std::string_view json) {
  std::vector<JsonMember> out;
  Cursor cursor{json};
  if (cursor.peek() != '{') return out;
  for (cursor.skip(1); cursor.peek() == '"'; cursor.skip(1)) {
    const auto name = nlohmann::json::parse(cursor.value(), nullptr, false);
    cursor.skip(1);  // the colon
    // A name with a lone surrogate is of no member that anybody asks for.
    out.push_back({name.is_string() ? name.get<std::string>() : "", cursor.value()});
  }
  return out;
}

}  // namespace handlers
