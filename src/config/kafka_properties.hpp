#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace inboxd::config {

/// Why a librdkafka property may not be set from a configuration file, as a sentence with the key to use instead where
/// there is one; nullopt where it may. Whether librdkafka knows the property at all it is asked itself (KafkaLibrary).
std::optional<std::string> refusal_of_kafka_property(std::string_view name);

/// Why a property that may be set may not have this value: librdkafka puts some into a command of the shell.
std::optional<std::string> refusal_of_kafka_value(std::string_view name, std::string_view value);

}  // namespace inboxd::config
