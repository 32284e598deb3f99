#include "url.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "../shared/encoding.hpp"

namespace http_handler {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& right) {
  const std::size_t at = std::min(text.rfind('@'), text.size());  // a password may stand before it
  const std::string shown = at == text.size() ? text : "…" + text.substr(at);
  throw inboxd::SettingsError{"setting 'url' is '" + shown + "'; " + right};
}

std::string without_user_and_query(const std::string& text, std::size_t authority, std::size_t path) {
  const std::size_t at = text.rfind('@', path);
  const std::size_t host = at == std::string::npos || at < authority ? authority : at + 1;
  return text.substr(0, authority) + text.substr(host, text.find_first_of("?#", path) - host);
}

}  // namespace

UrlTemplate::UrlTemplate(const std::string& text) {
  is_https_ = text.starts_with("https://");
  if (!is_https_ && !text.starts_with("http://")) refuse(text, "it must begin with http:// or https://");
  const std::size_t authority = text.find("://") + 3;
  const std::size_t path = std::min(text.find_first_of("/?#", authority), text.size());
  if (path == authority) refuse(text, "it must name a host");
  const auto is_bad = [](char c) { return c <= ' ' || c == '\x7f' || c == '#'; };
  if (std::any_of(text.begin(), text.end(), is_bad)) refuse(text, "it must have no blanks and no #");
  shown_ = without_user_and_query(text, authority, path);
  static constexpr std::array names{"topic", "type", "key", "event_id", "partition"};
  std::size_t begin = 0;
  for (;;) {
    const std::size_t open = text.find('{', begin);
    if (open != begin) parts_.emplace_back(text.substr(begin, open - begin));
    if (open == std::string::npos) return;
    const std::size_t close = text.find('}', open);
    const std::string name = text.substr(open + 1, close - open - 1);
    const auto found = std::find(names.begin(), names.end(), name);
    if (close == std::string::npos || found == names.end()) {
      refuse(text, "a placeholder is one of {topic} {type} {key} {event_id} {partition}");
    }
    if (open < path) refuse(text, "a placeholder must stand behind the host: events do not choose the server");
    parts_.emplace_back(static_cast<Field>(found - names.begin()));
    begin = close + 1;
    if (begin == text.size()) return;
  }
}

std::optional<std::string> UrlTemplate::url_for(const inboxd::Event& event) const {
  const auto value_of = [&](Field field) -> std::string {
    switch (field) {
      case Field::topic:
        return std::string{event.topic()};
      case Field::type:
        return std::string{event.type()};
      case Field::key:
        return std::string{event.key().value_or("")};
      case Field::event_id:
        return event.id();
      case Field::partition:
        return std::to_string(event.partition());
    }
    return {};
  };
  std::string out;
  for (const auto& part : parts_) {
    if (const auto* const text = std::get_if<std::string>(&part)) {
      out += *text;
      continue;
    }
    const std::string value = value_of(std::get<Field>(part));
    if (value.empty() || value == "." || value == "..") return std::nullopt;
    out += handlers::percent_encoded(value);
  }
  return out;
}

}  // namespace http_handler
