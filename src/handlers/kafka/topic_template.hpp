#pragma once
#include <inboxd/handler.hpp>
#include <string>

#include "../shared/placeholders.hpp"

namespace kafka_handler {

/// Setting `topic`, which may have placeholders.
class TopicTemplate final {
 public:
  /// Throws inboxd::SettingsError if no event could give a valid name.
  explicit TopicTemplate(const std::string& text);

  bool is_fixed() const { return text_.is_fixed(); }

  /// The event's topic, or why it has none.
  struct Name {
    std::string text;
    std::string problem;  ///< empty: the name is valid
  };
  Name of(const inboxd::Event& event) const;

 private:
  handlers::Placeholders text_;
};

}  // namespace kafka_handler
