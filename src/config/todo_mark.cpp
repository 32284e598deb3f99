#include "config/todo_mark.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "config/checks_http.hpp"

namespace inboxd::config {
namespace {

void check_text(const std::string& text, const std::string& key, Reading& reading) {
  const auto place = reading.mentioned.texts().find(key);
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::string_view all = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(all.size() + 1, rest.size()));
    const std::size_t indent = std::min(all.find_first_not_of(' '), all.size());
    const std::string_view words = all.substr(indent);
    if (!words.starts_with(todo_mark)) continue;
    const bool is_known = place != reading.mentioned.texts().end();
    reading.problem(is_known ? place->second.at(line, static_cast<int>(indent) + 1) : reading.mentioned.nearest(key),
                    key, base::shorten(words.substr(todo_mark.size()), 500));
  }
}

}  // namespace

void check_todo_marks(const Settings& settings, Reading& reading) {
  for (std::size_t i = 0; i < settings.handlers.size(); ++i) {
    for (const auto& [name, text] : settings.handlers[i].settings) {
      check_text(text, item_key("handlers", i) + ".settings." + name, reading);
    }
  }
}

}  // namespace inboxd::config
