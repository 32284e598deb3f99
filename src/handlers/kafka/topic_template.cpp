#include "topic_template.hpp"

#include <algorithm>
#include <cctype>

namespace kafka_handler {
namespace {

constexpr std::size_t max_name = 249;

bool fits(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-'; }

/// Why Kafka has no topic of that name; empty: it may have.
std::string problem_of_name(const std::string& topic) {
  if (topic.empty()) return "a topic's name is empty";
  if (topic == "." || topic == "..") return "'" + topic + "' is no name of a topic";
  if (topic.size() > max_name) return "a topic's name has at most 249 characters";
  if (!std::all_of(topic.begin(), topic.end(), fits)) {
    return "a topic's name has only letters, digits and . _ -, not '" + topic + "'";
  }
  return {};
}

}  // namespace

TopicTemplate::TopicTemplate(const std::string& text, std::vector<std::string> allowed)
    : text_{"topic", text}, allowed_{std::move(allowed)} {
  const std::string& fixed = text_.fixed_text();
  const auto problem = is_fixed() || !std::all_of(fixed.begin(), fixed.end(), fits) ? problem_of_name(fixed) : "";
  if (!problem.empty()) throw inboxd::SettingsError{"setting 'topic' is '" + text + "'; " + problem};
  if (is_fixed() && !allows(fixed)) {
    throw inboxd::SettingsError{"setting 'topic' is '" + text + "', which is not in 'topics_allowed'"};
  }
}

bool TopicTemplate::allows(const std::string& topic) const {
  return allowed_.empty() || std::any_of(allowed_.begin(), allowed_.end(), [&](const std::string& allowed) {
           if (!allowed.ends_with('*')) return topic == allowed;
           return topic.starts_with(std::string_view{allowed}.substr(0, allowed.size() - 1));
         });
}

TopicTemplate::Name TopicTemplate::of(const inboxd::Event& event) const {
  const auto text = text_.expanded(event, [](const std::optional<std::string>& value) { return value; });
  if (!text) return {{}, "the event has no key for {key} in setting 'topic'"};
  if (!allows(*text)) return {*text, "topic '" + *text + "' is not in setting 'topics_allowed'", false};
  return {*text, problem_of_name(*text)};
}

}  // namespace kafka_handler
