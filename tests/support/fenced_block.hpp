#pragma once
#include <stdexcept>
#include <string>

namespace inboxd::support {

/// The first code block of that language after a heading. Throws if there is none.
inline std::string fenced_block(const std::string& text, const std::string& language, const std::string& heading = "") {
  const std::string fence = "```" + language + "\n";
  const auto at = text.find(fence, text.find(heading));
  if (at == std::string::npos) throw std::runtime_error{"no block of " + language + " behind '" + heading + "'"};
  const auto begin = at + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

}  // namespace inboxd::support
