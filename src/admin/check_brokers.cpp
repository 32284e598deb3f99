#include <algorithm>

#include "admin/check.hpp"
#include "config/expression.hpp"
#include "config/internal_topics.hpp"
#include "config/units.hpp"
#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"
#include "kafka/words.hpp"

namespace inboxd::admin {
namespace {

using Kind = Finding::Kind;

Finding check_topic(const std::string& name, const std::vector<std::string>& topics,
                    const std::vector<kafka::TopicDescription>& described) {
  const std::string subject = "topic " + name;
  if (std::find(topics.begin(), topics.end(), name) == topics.end()) {
    return {Kind::problem, subject,
            "the brokers know no such topic, or the user may not see it; create it, or allow it"};
  }
  const auto found =
      std::find_if(described.begin(), described.end(), [&](const auto& one) { return one.name == name; });
  if (found == described.end()) {
    return {Kind::problem, subject,
            "the brokers list it and do not describe it; the user needs the right to describe it"};
  }
  return {Kind::good, subject, std::to_string(found->partitions) + " partitions"};
}

Finding check_pattern(const std::string& pattern, const std::vector<std::string>& topics) {
  const std::string subject = "topics " + pattern;
  const config::Expression expression{pattern};
  const auto matching = std::count_if(topics.begin(), topics.end(), [&](const auto& topic) {
    return !config::is_internal_topic(topic) && expression.matches(topic);
  });
  if (matching > 0) return {Kind::good, subject, "matches " + std::to_string(matching) + " topics now"};
  return {Kind::warning, subject, "matches no topic yet; one that appears is read from its beginning"};
}

}  // namespace

FoundList check_brokers(const config::Settings& settings, std::chrono::milliseconds patience) {
  const auto& configured = settings.kafka;
  kafka::ClientSettings wanted;
  wanted.brokers = configured.brokers;
  wanted.properties = configured.properties;
  FoundList out;
  auto conf = kafka::make_conf(wanted);
  if (!conf) {
    out.push_back({Kind::problem, "kafka.properties", conf.problem().message});
    return out;
  }
  kafka::Words words;
  words.listen(conf.value().get());
  const auto client = kafka::make_consumer(std::move(conf).value());
  if (!client) {
    out.push_back({Kind::problem, "kafka.properties", client.problem().message});
    return out;
  }
  const auto topics = kafka::list_topics(client.value().get(), patience);
  if (!topics) {
    const std::string said = words.last_complaint();
    out.push_back({Kind::unreachable, "brokers " + configured.brokers,
                   "not reached within " + std::to_string(patience.count() / 1000) + " s: " + topics.problem().message +
                       (said.empty() ? "" : " (" + said + ")") +
                       "; is the address right, and does the network let us through?"});
    return out;
  }
  out.push_back({Kind::good, "brokers " + configured.brokers, std::to_string(topics.value().size()) + " topics"});
  std::vector<std::string> names;
  for (const auto& topic : settings.topics) {
    if (!topic.name.empty()) names.push_back(topic.name);
  }
  const auto described = kafka::describe_topics(client.value().get(), names, patience);
  if (!described) {
    out.push_back({Kind::unreachable, "brokers " + configured.brokers, described.problem().message});
    return out;
  }
  for (const auto& topic : settings.topics) {
    out.push_back(topic.name.empty() ? check_pattern(topic.pattern, topics.value())
                                     : check_topic(topic.name, topics.value(), described.value()));
  }
  return out;
}

}  // namespace inboxd::admin
