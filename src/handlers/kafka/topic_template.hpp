#pragma once
#include <inboxd/handler.hpp>
#include <string>
#include <vector>

#include "../shared/placeholders.hpp"

namespace kafka_handler {

/// Setting `topic`, which may have placeholders.
class TopicTemplate final {
 public:
  /// `allowed`: names, or prefixes that end with *; empty: all. Throws inboxd::SettingsError if no event could give a
  /// valid name.
  explicit TopicTemplate(const std::string& text, std::vector<std::string> allowed = {});

  bool is_fixed() const { return text_.is_fixed(); }
  /// The producer of an event may choose any name.
  bool is_open() const { return allowed_.empty() && text_.begins_with_producers_text(); }

  /// The event's topic, or why it has none.
  struct Name {
    std::string text;
    std::string problem = {};    ///< empty: the name is valid
    bool is_allowed = true;
  };
  Name of(const inboxd::Event& event) const;

 private:
  bool allows(const std::string& topic) const;

  handlers::Placeholders text_;
  std::vector<std::string> allowed_;
};

}  // namespace kafka_handler
