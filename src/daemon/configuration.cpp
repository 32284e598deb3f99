#include "daemon/configuration.hpp"

#include <optional>

#include "config/kafka_properties.hpp"
#include "config/suggest.hpp"
#include "kafka/properties.hpp"
#include "kafka/property_check.hpp"

namespace inboxd::daemon {
namespace {

std::optional<std::string> refusal_of_name(const std::string& name) {
  if (kafka::is_for_producers(name)) return "this property is a producer's and would have no effect: leave it out";
  if (kafka::knows_property(name)) return std::nullopt;
  const std::string sentence = "librdkafka " + kafka::library_version() + " knows no such property; ";
  const auto near = config::closest(name, kafka::property_names());
  if (!near) return sentence + "its CONFIGURATION.md has them all";
  const auto refusal = config::refusal_of_kafka_property(*near);  // which would be told only in the next round
  return sentence + "did you mean " + *near + "?" + (refusal ? " " + *refusal : "");
}

std::optional<std::string> refusal_of_value(const std::string& name, const std::string& value) {
  const auto refusal = kafka::refusal_of_value(name, value);
  if (!refusal) {
    std::string unsound = kafka::assignment_problem({{name, value}});
    return unsound.empty() ? std::nullopt : std::optional{std::move(unsound)};
  }
  return "librdkafka does not take the value: " + *refusal;
}

}  // namespace

config::Loaded load_configuration(const std::string& file, bool offline) {
  return config::load_file(file, config::process_environment(offline, {refusal_of_name, refusal_of_value}));
}

}  // namespace inboxd::daemon
