#pragma once
#include <string>
#include <string_view>

namespace inboxd::config {

/// The text in lines of at most 120 columns, broken at spaces: the first begins with `first`, the others with `next`.
inline std::string wrapped(const std::string& first, const std::string& next, std::string_view text) {
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

}  // namespace inboxd::config
