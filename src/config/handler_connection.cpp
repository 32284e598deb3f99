#include "config/handler_connection.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace inboxd::config {
namespace {

/// Whether the property concerns every client, not only a consumer.
bool is_of_connection(const std::string& name) {
  constexpr std::array parts{"security.",         "sasl.",           "ssl.",
                             "enable.ssl.",       "enable.sasl.",    "https.",
                             "socket.",           "broker.address.", "client.dns.lookup",
                             "reconnect.backoff."};
  const std::string text = base::lower(name);
  return std::any_of(parts.begin(), parts.end(), [&](const char* const part) { return text.starts_with(part); });
}

}  // namespace

Handler with_connection(Handler handler, const Kafka& kafka) {
  if (handler.plugin != "kafka") return handler;
  // An entry `connection` in the file becomes a setting that the plugin refuses as unknown.
  if (auto given = handler.settings.extract("connection")) {
    given.key() = "connection (the daemon sets it)";
    handler.settings.insert(std::move(given));
  }
  nlohmann::json connection{{"bootstrap.servers", kafka.brokers}};
  for (const auto& [name, value] : kafka.properties_now()) {
    if (is_of_connection(name)) connection[name] = value;
  }
  handler.settings["connection"] = connection.dump();
  return handler;
}

HandlerProperties properties_of(const Handler& handler, const Kafka& kafka) {
  HandlerProperties out;
  const auto found = handler.settings.find("properties");
  if (handler.plugin != "kafka" || found == handler.settings.end()) return out;
  const auto given = nlohmann::json::parse(found->second, nullptr, false);
  if (!given.is_object()) return out;
  for (const auto& [name, value] : given.items()) {
    out.own[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  for (const char* const name : {"bootstrap.servers", "metadata.broker.list"}) {
    if (out.own.contains(name)) out.brokers = out.own.at(name);
  }
  out.all = out.own;
  if (out.brokers.empty()) out.all.insert(kafka.properties.begin(), kafka.properties.end());
  return out;
}

}  // namespace inboxd::config
