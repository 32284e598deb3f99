#include "cli/yaml_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"

namespace inboxd::cli {
namespace {

/// In the file, `${NAME}` is a variable.
std::string with_dollars(std::string_view text) {
  std::string out;
  for (const char c : text) out.append(c == '$' ? 2 : 1, c);
  return out;
}

bool is_plain(std::string_view text) {
  constexpr std::array<std::string_view, 9> words{"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-';
  };
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), is_word) &&
         std::find(words.begin(), words.end(), base::lower(text)) == words.end();
}

}  // namespace

std::string yaml_value(std::string_view text) {
  return is_plain(text) ? std::string{text} : base::json_quote(with_dollars(text));
}

std::string yaml_block(std::string_view text, const std::string& indent) {
  std::string out;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out.append(end == 0 ? "" : indent).append(with_dollars(text.substr(0, end))).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string yaml_comment(std::string_view text, const std::string& indent, const std::string& hang) {
  return base::wrapped(indent + "# ", indent + "# " + hang, base::escape_controls(text));
}

}  // namespace inboxd::cli
