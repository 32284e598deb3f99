#pragma once
#include <inboxd/handler.hpp>
#include <map>
#include <string>

namespace kafka_handler {

/// librdkafka's properties by name.
using Properties = std::map<std::string, std::string>;

/// The properties of a producer, and whether it writes to the cluster that the daemon reads.
struct ProducerProperties {
  Properties all;
  bool is_own_cluster = false;
};

/// Of the settings `properties` and `connection` (the daemon's own). Throws inboxd::SettingsError for a property that
/// would break a promise of this handler. Messages have no values: they may be secrets.
ProducerProperties properties_of(const inboxd::Settings& settings);

}  // namespace kafka_handler
