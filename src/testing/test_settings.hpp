#pragma once
#include <functional>
#include <string>

#include "config/settings.hpp"

namespace inboxd::testing {

/// The addresses that a configuration under test has in place of its own.
struct Surroundings {
  std::string database;  ///< URL
  std::string brokers;   ///< of handlers `kafka`
  /// A handler's URL by its name and its real URL; none: handlers `http` call their real addresses.
  std::function<std::string(const std::string& handler, const std::string& real)> url_for = {};
};

/// The configuration under test: as it is, but on the throw-away database, without Kafka, relay, admin port and traces.
/// Retries wait an hour, unless `expire_after` depends on the wait: a test sees each handler's first attempt. Pure.
config::Settings settings_for_test(config::Settings settings, const Surroundings& surroundings);

}  // namespace inboxd::testing
