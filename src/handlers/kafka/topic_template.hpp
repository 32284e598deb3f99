#pragma once
#include <inboxd/handler.hpp>
#include <string>
#include <vector>

namespace kafka_handler {

/// Setting `topic`: a name with the placeholders {topic} {type} {key} {event_id} {partition}.
class TopicTemplate final {
 public:
  /// Throws inboxd::SettingsError if no event could give a valid name.
  explicit TopicTemplate(const std::string& text);

  /// The event's topic, or why it has none.
  struct Name {
    std::string text;
    std::string problem;  ///< empty: the name is valid
  };
  bool is_fixed() const;
  Name of(const inboxd::Event& event) const;

 private:
  struct Part {
    std::string text;
    bool is_placeholder = false;
  };
  std::vector<Part> parts_;
};

/// Why Kafka has no topic of that name; empty: it may have.
std::string problem_of_name(const std::string& topic);

}  // namespace kafka_handler
