#include "consumer/topics.hpp"

#include <stdexcept>
#include <utility>

#include "config/internal_topics.hpp"

namespace inboxd::consumer {

Topics::Topics(const std::vector<config::Topic>& topics) : topics_{topics} {
  for (const config::Topic& topic : topics_) {
    if (topic.pattern.empty()) continue;
    auto expression = std::make_unique<config::Expression>(topic.pattern);
    if (expression->problem()) {
      throw std::invalid_argument{"topics: pattern " + topic.pattern + " got past the configuration's check"};
    }
    patterns_.push_back({std::move(expression), &topic});
  }
}

const config::Topic* Topics::find(const std::string& name) const {
  for (const config::Topic& topic : topics_) {
    if (!topic.name.empty() && topic.name == name) return &topic;
  }
  if (config::is_internal_topic(name)) return nullptr;
  for (const Pattern& pattern : patterns_) {
    if (pattern.expression->matches(name)) return pattern.topic;
  }
  return nullptr;
}

std::set<std::string> Topics::names() const {
  std::set<std::string> out;
  for (const config::Topic& topic : topics_) {
    if (!topic.name.empty()) out.insert(topic.name);
  }
  return out;
}

std::vector<std::string> Topics::subscription() const {
  std::vector<std::string> out;
  for (const config::Topic& topic : topics_) out.push_back(topic.name.empty() ? topic.pattern : topic.name);
  return out;
}

}  // namespace inboxd::consumer
