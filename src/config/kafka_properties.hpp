#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::config {

/// Why a configuration file may not set a librdkafka property, with the key to use instead, if any; nullopt if it may.
/// KafkaLibrary knows whether the property exists.
std::optional<std::string> refusal_of_kafka_property(std::string_view name);

/// Why an allowed property may not have this value: librdkafka puts some values into a shell command.
std::optional<std::string> refusal_of_kafka_value(std::string_view name, std::string_view value);

/// A login that librdkafka would take for Kerberos, because it has no mechanism, or a token without its mechanism.
std::optional<std::string> missing_mechanism(const std::map<std::string, std::string>& properties);

/// The first property of a login or of TLS that has no effect under this security.protocol, with the remedy.
struct WithoutEffect {
  std::string name;
  std::string remedy;
};
std::optional<WithoutEffect> property_without_effect(const std::map<std::string, std::string>& properties);

}  // namespace inboxd::config
