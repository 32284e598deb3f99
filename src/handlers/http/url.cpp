#include "url.hpp"

#include <algorithm>

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

UrlTemplate::UrlTemplate(const std::string& text) : text_{"url", text}, is_https_{text.starts_with("https://")} {
  if (!is_https_ && !text.starts_with("http://")) refuse(text, "it must begin with http:// or https://");
  const std::size_t authority = text.find("://") + 3;
  const std::size_t path = std::min(text.find_first_of("/?#", authority), text.size());
  if (path == authority) refuse(text, "it must name a host");
  const auto is_bad = [](char c) { return c <= ' ' || c == '\x7f' || c == '#'; };
  if (std::any_of(text.begin(), text.end(), is_bad)) refuse(text, "it must have no blanks and no #");
  if (text.find('{') < path) refuse(text, "a placeholder must stand behind the host: events do not choose the server");
  shown_ = without_user_and_query(text, authority, path);
}

std::optional<std::string> UrlTemplate::url_for(const inboxd::Event& event) const {
  return text_.expanded(event, [](const std::optional<std::string>& value) -> std::optional<std::string> {
    if (!value || value->empty() || value == "." || value == "..") return std::nullopt;
    return handlers::percent_encoded(*value);
  });
}

}  // namespace http_handler
