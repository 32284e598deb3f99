#include "operations/plaintext.hpp"

#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "base/text.hpp"
#include "base/this_machine.hpp"

namespace inboxd::operations {
using base::host_of;
using base::is_on_this_machine;

std::string plaintext_broker(const std::string& brokers, const std::map<std::string, std::string>& properties) {
  const auto protocol = properties.find("security.protocol");
  if (protocol != properties.end() && base::lower(protocol->second).ends_with("ssl")) return {};
  std::istringstream all{brokers};
  for (std::string broker; std::getline(all, broker, ',');) {
    const auto begin = broker.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    broker.erase(0, begin);
    if (!is_on_this_machine(host_of(broker))) return broker;
  }
  return {};
}

Finding in_plaintext(std::string subject, const std::string& address, const std::string& remedy,
                     const std::string& what) {
  return {Finding::Kind::warning, std::move(subject), what + " travel to " + address + " in plaintext: " + remedy};
}

namespace {

constexpr std::string_view plain_scheme = "http://";

/// Host and port of an http:// URL if they are on another machine; else empty. Without the user, who has a password.
std::string remote_address(const std::string& url) {
  if (!base::lower(url).starts_with(plain_scheme)) return {};
  const std::size_t begin = plain_scheme.size();
  const std::string authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  const std::string address = authority.substr(authority.rfind('@') + 1);  // npos + 1: everything
  return is_on_this_machine(host_of(address)) ? std::string{} : address;
}

std::string setting_of(const config::Handler& handler, const char* name) {
  const auto found = handler.settings.find(name);
  return found == handler.settings.end() ? std::string{} : found->second;
}

void check_http(const config::Handler& handler, FoundList& out) {
  const std::string url = setting_of(handler, "url");
  const std::string headers = setting_of(handler, "headers");
  const bool has_login = url.find_first_of("@?") != std::string::npos || (!headers.empty() && headers != "{}");
  const std::string address = remote_address(url);
  if (!has_login || address.empty() || handler.settings.contains("unix_socket")) return;
  out.push_back(in_plaintext("handler " + handler.name, address, "set settings.url to an https:// address"));
}

/// Settings with brokers of their own take none of the daemon's (src/handlers/kafka).
void check_kafka(const config::Handler& handler, const std::string& daemons_brokers, FoundList& out) {
  std::map<std::string, std::string> own;
  const auto given = nlohmann::json::parse(setting_of(handler, "properties"), nullptr, false);
  if (!given.is_object()) return;
  for (const auto& [name, value] : given.items()) own[name] = value.is_string() ? value.get<std::string>() : "";
  std::string brokers;
  for (const char* const name : {"bootstrap.servers", "metadata.broker.list"}) {
    if (own.contains(name)) brokers = own.at(name);
  }
  if (brokers.empty() && own.contains("security.protocol")) brokers = daemons_brokers;
  const std::string broker = plaintext_broker(brokers, own);
  if (broker.empty()) return;
  out.push_back(in_plaintext("handler " + handler.name, broker,
                             "set security.protocol in settings.properties to ssl or sasl_ssl"));
}

/// The client's secret and the tokens travel to this address.
void check_token_endpoint(const config::Kafka& kafka, FoundList& out) {
  const auto endpoint = kafka.properties.find("sasl.oauthbearer.token.endpoint.url");
  if (endpoint == kafka.properties.end()) return;
  const std::string address = remote_address(endpoint->second);
  if (address.empty()) return;
  out.push_back(in_plaintext("kafka.properties.sasl.oauthbearer.token.endpoint.url", address,
                             "set it to an https:// address", "the client's secret and its tokens"));
}

void check_admin(const config::Admin& admin, FoundList& out) {
  if (admin.token.empty() && admin.read_token.empty()) return;  // others get health checks only
  if (admin.listen == "off" || !admin.tls.is_off() || is_on_this_machine(host_of(admin.listen))) return;
  out.push_back({Finding::Kind::warning, "admin.listen " + admin.listen,
                 "other machines send their tokens in plaintext: set admin.tls, or listen on 127.0.0.1 behind a proxy "
                 "with TLS"});
}

}  // namespace

FoundList check_plaintext(const config::Settings& settings) {
  FoundList out;
  check_admin(settings.admin, out);
  const config::Kafka& kafka = settings.kafka;
  if (const auto broker = plaintext_broker(kafka.brokers, kafka.properties); !broker.empty()) {
    out.push_back(in_plaintext("brokers " + kafka.brokers, broker,
                               "set security.protocol in kafka.properties to ssl or sasl_ssl"));
  }
  check_token_endpoint(kafka, out);
  for (const config::Handler& handler : settings.handlers) {
    if (handler.plugin == "http") check_http(handler, out);
    if (handler.plugin == "kafka") check_kafka(handler, kafka.brokers, out);
  }
  const config::Tracing& tracing = settings.tracing;
  if (const std::string address = remote_address(tracing.endpoint); !address.empty()) {
    out.push_back(in_plaintext("tracing.endpoint", address, "run a collector on this machine that forwards with TLS",
                               tracing.authorization.empty() ? "spans" : "spans and tracing.authorization"));
  }
  return out;
}

}  // namespace inboxd::operations
