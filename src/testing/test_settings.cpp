#include "testing/test_settings.hpp"

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace inboxd::testing {
namespace {

constexpr std::chrono::milliseconds poll_interval{10};
constexpr std::chrono::milliseconds retry_wait{3'600'000};

/// Settings that hold for the real service only.
constexpr std::array of_real_service{"unix_socket", "ca", "certificate", "certificate_key", "health"};

void point_http(config::Handler& handler, const Surroundings& surroundings) {
  auto& url = handler.settings["url"];
  url = surroundings.url_for(handler.name, url);
  for (const char* const name : of_real_service) handler.settings.erase(name);
  // A secret that is empty: this machine does not have it.
  if (handler.settings["signing_secret"].empty()) handler.settings.erase("signing_secret");
}

/// Security and sockets are those of the real brokers.
void point_kafka(config::Handler& handler, const std::string& brokers) {
  auto given = nlohmann::json::parse(handler.settings["properties"], nullptr, false);
  if (!given.is_object()) given = nlohmann::json::object();
  nlohmann::json properties = nlohmann::json::object();
  for (const auto& [name, value] : given.items()) {
    const std::string word = base::lower(name);
    const bool is_of_real = word.starts_with("security.") || word.starts_with("sasl.") || word.starts_with("ssl.") ||
                            word.starts_with("enable.s") || word.starts_with("metadata.broker");
    if (!is_of_real) properties[name] = value;
  }
  properties["bootstrap.servers"] = brokers;
  handler.settings["properties"] = properties.dump();
}

}  // namespace

config::Settings settings_for_test(config::Settings settings, const Surroundings& surroundings) {
  settings.database.url = surroundings.database;
  settings.database.password = {};
  settings.kafka.brokers.clear();
  settings.kafka.properties.clear();
  settings.kafka.secrets.clear();
  settings.outbox.relay = false;
  settings.admin.listen = "off";
  settings.ingest.listen = "off";
  settings.admin.socket.clear();
  settings.tracing.endpoint.clear();
  settings.dispatch.poll = poll_interval;
  for (config::Handler& handler : settings.handlers) {
    if (!handler.expire_after) handler.retry.base = handler.retry.cap = retry_wait;
    if (handler.plugin == "http" && surroundings.url_for) point_http(handler, surroundings);
    if (handler.plugin == "kafka") point_kafka(handler, surroundings.brokers);
  }
  return settings;
}

}  // namespace inboxd::testing
