#include "topic_template.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace kafka_handler {
namespace {

constexpr std::size_t longest_name = 249;
constexpr std::array known{"topic", "type", "key", "event_id", "partition"};

bool fits(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-'; }

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw inboxd::SettingsError{"setting 'topic' is '" + text + "'; " + why};
}

std::optional<std::string> value_of(const std::string& placeholder, const inboxd::Event& event) {
  if (placeholder == "topic") return std::string{event.topic()};
  if (placeholder == "type") return std::string{event.type()};
  if (placeholder == "event_id") return event.id();
  if (placeholder == "partition") return std::to_string(event.partition());
  const auto key = event.key();
  return key ? std::optional{std::string{*key}} : std::nullopt;
}

}  // namespace

std::string problem_of_name(const std::string& topic) {
  if (topic.empty()) return "a topic's name is empty";
  if (topic == "." || topic == "..") return "'" + topic + "' is no name of a topic";
  if (topic.size() > longest_name) return "a topic's name has at most 249 characters";
  if (!std::all_of(topic.begin(), topic.end(), fits)) {
    return "a topic's name has only letters, digits and . _ -, not '" + topic + "'";
  }
  return {};
}

TopicTemplate::TopicTemplate(const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    if (open > at) {
      parts_.push_back({text.substr(at, open - at), false});
      if (!std::all_of(parts_.back().text.begin(), parts_.back().text.end(), fits)) {
        refuse(text, "a topic's name has only letters, digits and . _ -");
      }
    }
    if (open == text.size()) break;
    const std::size_t close = text.find('}', open);
    const std::string name = close == std::string::npos ? "" : text.substr(open + 1, close - open - 1);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      refuse(text, "its placeholders are {topic} {type} {key} {event_id} {partition}");
    }
    parts_.push_back({name, true});
    at = close + 1;
  }
  if (const auto problem = problem_of_name(text); is_fixed() && !problem.empty()) refuse(text, problem);
}

bool TopicTemplate::is_fixed() const {
  return std::none_of(parts_.begin(), parts_.end(), [](const Part& each) { return each.is_placeholder; });
}

TopicTemplate::Name TopicTemplate::of(const inboxd::Event& event) const {
  Name out;
  for (const Part& part : parts_) {
    const auto text = part.is_placeholder ? value_of(part.text, event) : std::optional{part.text};
    if (!text) return {{}, "the event has no key for {key} in setting 'topic'"};
    out.text += *text;
  }
  out.problem = problem_of_name(out.text);
  return out;
}

}  // namespace kafka_handler
