#include "operations/unsafe_connections.hpp"

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "base/this_machine.hpp"
#include "config/handler_connection.hpp"
#include "inbox/url_options.hpp"

namespace inboxd::operations {
using base::host_of;
using base::is_on_this_machine;

namespace {

using Options = std::map<std::string, std::string>;

std::vector<std::string> items_of(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream all{list};
  for (std::string item; std::getline(all, item, ',');) {
    const auto begin = item.find_first_not_of(' ');
    if (begin != std::string::npos) out.push_back(item.substr(begin));
  }
  return out;
}

/// In lower case; empty: not set.
std::string value_of(const Options& options, const std::string& name) {
  const auto found = options.find(name);
  return found == options.end() ? "" : base::lower(found->second);
}

Finding in_plaintext(std::string subject, const std::string& address, const std::string& remedy,
                     const std::string& what = "events and passwords") {
  return {Finding::Kind::warning, std::move(subject), what + " travel to " + address + " in plaintext: " + remedy};
}

/// The first server on another machine; empty: none. An address counts before a name, as for libpq.
std::string remote_server(const Options& options) {
  const bool has_address = !value_of(options, "hostaddr").empty();
  for (const std::string& host : items_of(value_of(options, has_address ? "hostaddr" : "host"))) {
    if (!host.starts_with('@') && !is_on_this_machine(host)) return host;  // @: an abstract socket
  }
  return {};
}

void check_database(const std::string& url, FoundList& out) {
  const Options options = inbox::effective_options(url);
  const std::string server = remote_server(options), mode = value_of(options, "sslmode");
  // libpq itself demands verify-full with sslrootcert=system.
  if (server.empty() || value_of(options, "gssencmode") == "require" || value_of(options, "sslrootcert") == "system") {
    return;
  }
  const std::string remedy = "set sslmode=verify-full and sslrootcert in database.url";
  if (mode == "disable") out.push_back(in_plaintext("database", server, remedy));
  if (mode == "allow" || mode == "prefer" || mode == "require") {
    const std::string plaintext = mode == "require" ? "" : "events and passwords may travel in plaintext, and ";
    out.push_back({Finding::Kind::warning, "database",
                   "with sslmode=" + mode + " " + plaintext + "a false server in place of " + server +
                       " is not noticed: " + remedy});
  }
}

/// The first on another machine; empty: none.
std::string remote_broker(const std::string& brokers) {
  for (const std::string& broker : items_of(brokers)) {
    if (!is_on_this_machine(host_of(broker))) return broker;
  }
  return {};
}

/// A warning of a client of the brokers, and the property that causes it.
struct Weakness {
  std::string property;
  std::string message;
};

/// `map`: the key of the properties in the file.
std::vector<Weakness> weaknesses_of(const std::string& brokers, const Options& properties, const std::string& map) {
  const std::string protocol = "security.protocol", verification = "enable.ssl.certificate.verification",
                    host_name = "ssl.endpoint.identification.algorithm";
  const std::string broker = remote_broker(brokers);
  if (broker.empty()) return {};
  if (!value_of(properties, protocol).ends_with("ssl")) {
    return {{protocol, in_plaintext("", broker, "set " + protocol + " in " + map + " to ssl or sasl_ssl").message}};
  }
  const auto unverified = [&](const std::string& property, const std::string& remedy) {
    return Weakness{property, "with " + property + ": " + value_of(properties, property) +
                                  " a false broker in place of " + broker +
                                  " is not noticed, and gets events and passwords: remove it from " + map + remedy};
  };
  const std::string verifies = value_of(properties, verification);
  if (verifies == "false" || verifies == "f" || verifies == "0") {
    return {unverified(verification, ", and set ssl.ca.location to the certificate authority")};
  }
  if (value_of(properties, host_name) == "none") {
    return {unverified(host_name, ", and use the host name of the certificate for the broker")};
  }
  return {};
}

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

void check_kafka(const config::Handler& handler, const config::Kafka& daemons, FoundList& out) {
  const auto [own, all, brokers] = config::properties_of(handler, daemons);
  const bool has_brokers = !brokers.empty();
  for (const Weakness& each : weaknesses_of(has_brokers ? brokers : daemons.brokers, all, "settings.properties")) {
    if (!has_brokers && !own.contains(each.property)) continue;  // the daemon's own, which has its warning
    out.push_back({Finding::Kind::warning, "handler " + handler.name, each.message});
  }
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

void check_registries(const config::Settings& settings, FoundList& out) {
  std::set<std::string> warned;
  for (const config::Topic& topic : settings.topics) {
    for (const config::Format* const format : {&topic.value, &topic.key}) {
      const config::Registry& registry = format->registry;
      const std::string address = remote_address(registry.url);
      if (address.empty() || !warned.insert(address).second) continue;
      const bool has_login = !registry.user.empty() || !registry.token.empty();
      out.push_back(in_plaintext("registry " + registry.url, address, "set registry.url to an https:// address",
                                 has_login ? "its password or token, and schemas," : "schemas"));
    }
  }
}

void check_admin(const config::Admin& admin, FoundList& out) {
  if (admin.token.empty() && admin.read_token.empty()) return;  // others get health checks only
  if (admin.listen == "off" || !admin.tls.is_off() || is_on_this_machine(host_of(admin.listen))) return;
  out.push_back({Finding::Kind::warning, "admin.listen " + admin.listen,
                 "other machines send their tokens in plaintext: set admin.tls, or listen on 127.0.0.1 behind a proxy "
                 "with TLS"});
}

}  // namespace

FoundList check_connections(const config::Settings& settings) {
  FoundList out;
  check_admin(settings.admin, out);
  check_database(settings.database.url, out);
  const config::Kafka& kafka = settings.kafka;
  for (const Weakness& each : weaknesses_of(kafka.brokers, kafka.properties, "kafka.properties")) {
    out.push_back({Finding::Kind::warning, "brokers " + kafka.brokers, each.message});
  }
  check_token_endpoint(kafka, out);
  for (const config::Handler& handler : settings.handlers) {
    if (handler.plugin == "http") check_http(handler, out);
    if (handler.plugin == "kafka") check_kafka(handler, kafka, out);
  }
  check_registries(settings, out);
  const config::Tracing& tracing = settings.tracing;
  if (const std::string address = remote_address(tracing.endpoint); !address.empty()) {
    out.push_back(in_plaintext("tracing.endpoint", address, "run a collector on this machine that forwards with TLS",
                               tracing.authorization.empty() ? "spans" : "spans and tracing.authorization"));
  }
  return out;
}

}  // namespace inboxd::operations
