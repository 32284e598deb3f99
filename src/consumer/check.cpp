#include "consumer/check.hpp"

#include <algorithm>

#include "consumer/topics.hpp"
#include "kafka/lookup.hpp"
#include "kafka/properties.hpp"

namespace inboxd::consumer {
namespace {

constexpr kafka::Timeout broker_timeout{5'000};

Finding check_topic(rd_kafka_t* client, const std::string& name) {
  const auto description = kafka::describe_topic(client, name, broker_timeout);
  if (!description) return {false, "topic " + name, description.problem().message + "; create it or correct its name"};
  const auto bounds = kafka::log_bounds(client, {name, 0}, broker_timeout);
  if (!bounds) return {false, "topic " + name, bounds.problem().message};
  return {true, "topic " + name, std::to_string(description.value().partitions) + " partitions"};
}

Finding check_pattern(const config::Topic& topic, const std::vector<std::string>& names) {
  const Topics only{{topic}};
  const auto matching =
      std::count_if(names.begin(), names.end(), [&](const std::string& name) { return only.find(name) != nullptr; });
  return {true, "topics " + topic.pattern, std::to_string(matching) + " topics match now"};
}

}  // namespace

std::vector<Finding> check_brokers(const config::Settings& settings) {
  std::vector<Finding> out;
  if (const auto problem = kafka::assignment_problem(settings.kafka.properties); !problem.empty()) {
    out.push_back({false, "kafka.properties", problem});
  }
  auto conf = kafka::make_conf({settings.kafka.brokers, settings.kafka.group, "", settings.kafka.properties, 0});
  if (!conf) return {{false, "kafka.properties", conf.problem().message}};
  rd_kafka_conf_set_log_cb(conf.value().get(), [](const rd_kafka_t*, int, const char*, const char*) {});
  auto client = kafka::make_consumer(std::move(conf).value());
  if (!client) return {{false, "kafka", client.problem().message}};
  const auto names = kafka::list_topics(client.value().get(), broker_timeout);
  if (!names) {
    out.push_back({false, "brokers", settings.kafka.brokers + " not reached: " + names.problem().message});
    return out;
  }
  out.push_back({true, "brokers", settings.kafka.brokers + " answer, librdkafka " + kafka::library_version()});
  for (const config::Topic& topic : settings.topics) {
    out.push_back(topic.name.empty() ? check_pattern(topic, names.value())
                                     : check_topic(client.value().get(), topic.name));
  }
  return out;
}

}  // namespace inboxd::consumer
