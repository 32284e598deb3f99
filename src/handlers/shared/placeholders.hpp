#pragma once
#include <functional>
#include <inboxd/handler.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace handlers {

/// A setting's text with placeholders {topic} {type} {key} {event_id} {partition}.
class Placeholders {
 public:
  /// `setting`: its name, for the error. Throws inboxd::SettingsError for an unknown placeholder.
  Placeholders(const std::string& setting, const std::string& text);

  bool is_fixed() const { return !has_placeholder_; }
  /// With a text that the producer of the event chooses.
  bool begins_with_producers_text() const;
  /// The text without its placeholders.
  const std::string& fixed_text() const { return fixed_text_; }

  /// The text for an event, with each value as `convert` returns it; nullopt: it refused a value. A key may be missing.
  using Convert = std::function<std::optional<std::string>(const std::optional<std::string>& value)>;
  std::optional<std::string> expanded(const inboxd::Event& event, const Convert& convert) const;

 private:
  enum class Field { topic, type, key, event_id, partition };
  static std::optional<std::string> value_of(Field field, const inboxd::Event& event);

  std::vector<std::variant<std::string, Field>> parts_;
  std::string fixed_text_;
  bool has_placeholder_ = false;
};

}  // namespace handlers
