#include "config/topics.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace inboxd::config {

std::optional<std::string> Expression::problem() const {
  if (error_ == 0) return std::nullopt;
  std::string reason(200, '\0');
  reason.resize(regerror(error_, &compiled_, reason.data(), reason.size()) - 1);
  return reason;
}

bool is_internal_topic(std::string_view name) {
  return std::find(internal_topics.begin(), internal_topics.end(), name) != internal_topics.end();
}

std::string excluding_expression(const std::string& entry) {
  if (entry.starts_with('^')) return entry;
  std::string out = "^";
  for (const char c : entry) out += c == '*' ? ".*" : c == '.' ? "[.]" : std::string{c};
  return out + "$";
}

Topics::Topics(const std::vector<Topic>& topics, ShardOf shard) : topics_{topics}, shard_{shard} {
  for (const Topic& topic : topics_) {
    if (topic.pattern.empty()) continue;
    auto expression = std::make_unique<Expression>(topic.pattern);
    if (expression->problem()) {
      throw std::invalid_argument{"topics: pattern " + topic.pattern + " passed the configuration's check"};
    }
    patterns_.push_back({std::move(expression), &topic});
  }
  for (const std::string& expression : excluded()) excluded_.push_back(std::make_unique<Expression>(expression));
}

const Topic* Topics::find(const std::string& name) const {
  for (const Topic& topic : topics_) {
    if (!topic.name.empty() && topic.name == name) return &topic;
  }
  if (is_internal_topic(name)) return nullptr;
  if (std::any_of(excluded_.begin(), excluded_.end(), [&](const auto& each) { return each->matches(name); })) {
    return nullptr;
  }
  for (const Pattern& pattern : patterns_) {
    if (pattern.expression->matches(name)) return pattern.topic;
  }
  return nullptr;
}

std::set<std::string> Topics::names() const {
  std::set<std::string> out;
  for (const Topic& topic : topics_) {
    if (!topic.name.empty()) out.insert(topic.name);
  }
  return out;
}

std::vector<std::string> Topics::subscription() const {
  std::vector<std::string> out;
  for (const Topic& topic : topics_) out.push_back(topic.name.empty() ? topic.pattern : topic.name);
  return out;
}

std::vector<std::string> Topics::excluded() const {
  std::vector<std::string> out;
  for (const Topic& topic : topics_) {
    for (const std::string& entry : topic.exclude) out.push_back(excluding_expression(entry));
  }
  return out;
}

std::vector<Topic> kafka_topics(const std::vector<Topic>& topics) {
  std::vector<Topic> out;
  std::vector<std::string> local;
  for (const Topic& topic : topics) {
    topic.source == Source::local ? local.push_back(topic.name) : out.push_back(topic);
  }
  if (!out.empty()) out.front().exclude.insert(out.front().exclude.end(), local.begin(), local.end());
  return out;
}

Policy policy_of(const Handler& handler) {
  Policy out{handler.retry, handler.expire_after};
  if (!handler.unwrapped.empty()) out.topics = std::make_shared<const Topics>(handler.unwrapped);
  return out;
}

}  // namespace inboxd::config
