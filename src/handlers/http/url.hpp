#pragma once
#include <inboxd/handler.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace http_handler {

/// A text with placeholders {topic} {type} {key} {event_id} {partition}, each of which becomes one segment of a path.
class UrlTemplate {
 public:
  /// Throws inboxd::SettingsError, also for a placeholder in scheme or host: an event must not choose the server.
  explicit UrlTemplate(const std::string& text);

  /// nullopt: a placeholder's value is null, empty, `.` or `..`, which is no segment of its own.
  std::optional<std::string> url_for(const inboxd::Event& event) const;

  /// For people: scheme, host and path, without user, password and query.
  const std::string& shown() const { return shown_; }
  bool is_https() const { return is_https_; }
  bool has_placeholders() const { return parts_.size() > 1 || std::holds_alternative<Field>(parts_.front()); }

 private:
  enum class Field { topic, type, key, event_id, partition };
  std::vector<std::variant<std::string, Field>> parts_;
  std::string shown_;
  bool is_https_ = false;
};

}  // namespace http_handler
