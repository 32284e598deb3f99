#include "placeholders.hpp"

#include <algorithm>
#include <array>

namespace handlers {
namespace {

constexpr std::array names{"topic", "type", "key", "event_id", "partition"};

}  // namespace

Placeholders::Placeholders(const std::string& setting, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    if (open > at) {
      parts_.emplace_back(text.substr(at, open - at));
      fixed_text_ += text.substr(at, open - at);
    }
    if (open == text.size()) return;
    const std::size_t close = text.find('}', open);
    const std::string name = close == std::string::npos ? "" : text.substr(open + 1, close - open - 1);
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) {
      throw inboxd::SettingsError{"setting '" + setting +
                                  "': a placeholder is one of {topic} {type} {key} {event_id} {partition}"};
    }
    parts_.emplace_back(static_cast<Field>(found - names.begin()));
    has_placeholder_ = true;
    at = close + 1;
  }
}

bool Placeholders::begins_with_producers_text() const {
  const auto* const first = parts_.empty() ? nullptr : std::get_if<Field>(&parts_.front());
  return first != nullptr && (*first == Field::type || *first == Field::key);
}

std::optional<std::string> Placeholders::value_of(Field field, const inboxd::Event& event) {
  switch (field) {
    case Field::topic:
      return std::string{event.topic()};
    case Field::type:
      return std::string{event.type()};
    case Field::event_id:
      return event.id();
    case Field::partition:
      return std::to_string(event.partition());
    case Field::key:
      break;
  }
  const auto key = event.key();
  return key ? std::optional{std::string{*key}} : std::nullopt;
}

std::optional<std::string> Placeholders::expanded(const inboxd::Event& event, const Convert& convert) const {
  std::string out;
  for (const auto& part : parts_) {
    const auto* const field = std::get_if<Field>(&part);
    const auto text = field == nullptr ? std::optional{std::get<std::string>(part)} : convert(value_of(*field, event));
    if (!text) return std::nullopt;
    out += *text;
  }
  return out;
}

}  // namespace handlers
