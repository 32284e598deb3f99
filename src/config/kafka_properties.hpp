#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::config {

/// Why a configuration file may not set a librdkafka property, with the key to use instead, if any; nullopt if it may.
/// KafkaLibrary knows whether the property exists.
std::optional<std::string> refusal_of_kafka_property(std::string_view name);

/// Why an allowed property may not have this value: librdkafka puts some values into a shell command.
std::optional<std::string> refusal_of_kafka_value(std::string_view name, std::string_view value);

}  // namespace inboxd::config
