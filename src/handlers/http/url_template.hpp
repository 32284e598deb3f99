#pragma once
#include <inboxd/handler.hpp>
#include <optional>
#include <string>

#include "../shared/placeholders.hpp"

namespace http_handler {

/// Setting `url`: each placeholder becomes a segment of the path.
class UrlTemplate {
 public:
  /// Throws inboxd::SettingsError. Refuses a placeholder in scheme or host, because an event must not choose the
  /// server, and a user name or password, without repeating it.
  explicit UrlTemplate(const std::string& text);

  /// nullopt: a placeholder's value is null, empty, `.` or `..`, which is no segment of its own.
  std::optional<std::string> url_for(const inboxd::Event& event) const;

  /// For people: scheme, host and path, without the query.
  const std::string& shown() const { return shown_; }
  /// Scheme, host and port.
  std::string server() const { return shown_.substr(0, shown_.find('/', shown_.find("://") + 3)); }
  bool is_https() const { return is_https_; }
  bool has_placeholders() const { return !text_.is_fixed(); }

 private:
  handlers::Placeholders text_;
  std::string shown_;
  bool is_https_;
};

}  // namespace http_handler
