#include "url_template.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

#include "../shared/encoding.hpp"

namespace http_handler {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& right) {
  const std::size_t at = std::min(text.rfind('@'), text.size());  // a password may stand before it
  const std::string shown = at == text.size() ? text : "…" + text.substr(at);
  throw inboxd::SettingsError{"setting 'url' is '" + shown + "'; " + right};
}

/// Lets curl judge the rest, as it would at the first request.
void check(const std::string& text) {
  const std::unique_ptr<CURLU, void (*)(CURLU*)> url{curl_url(), curl_url_cleanup};
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER | CURLU_PATH_AS_IS);
  if (code == CURLUE_USER_NOT_ALLOWED) {
    throw inboxd::SettingsError{
        "setting 'url' has a user name or password; remove it, and set headers: {Authorization: {file: …}}"};
  }
  if (code == CURLUE_BAD_PORT_NUMBER) refuse(text, "its port must be a number up to 65535");
  if (code != CURLUE_OK) refuse(text, std::string{"it is no url: "} + curl_url_strerror(code));
}

}  // namespace

UrlTemplate::UrlTemplate(const std::string& text) : text_{"url", text}, is_https_{text.starts_with("https://")} {
  if (!is_https_ && !text.starts_with("http://")) refuse(text, "it must begin with http:// or https://");
  const std::size_t authority = text.find("://") + 3;
  const std::size_t path = std::min(text.find_first_of("/?#", authority), text.size());
  if (path == authority) refuse(text, "it must name a host");
  const auto is_bad = [](char c) { return c <= ' ' || c == '\x7f' || c == '#'; };
  if (std::any_of(text.begin(), text.end(), is_bad)) refuse(text, "it must have no blanks and no #");
  if (text.find('{') < path) refuse(text, "a placeholder must stand after the host: events do not choose the server");
  check(text);
  shown_ = text.substr(0, text.find('?'));
}

std::optional<std::string> UrlTemplate::url_for(const inboxd::Event& event) const {
  return text_.expanded(event, [](const std::optional<std::string>& value) -> std::optional<std::string> {
    if (!value || value->empty() || value == "." || value == "..") return std::nullopt;
    return handlers::percent_encoded(*value);
  });
}

}  // namespace http_handler
