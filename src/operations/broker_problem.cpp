#include "operations/broker_problem.hpp"

#include <string_view>

#include "base/text.hpp"
#include "kafka/client_log.hpp"

namespace inboxd::operations {
namespace {

using Kind = Finding::Kind;

std::string value_of(const std::map<std::string, std::string>& properties, const std::string& name) {
  const auto found = properties.find(name);
  return found == properties.end() ? "" : found->second;
}

/// `user app (SCRAM-SHA-512)`.
std::string login_of(const std::map<std::string, std::string>& properties) {
  const std::string user = value_of(properties, "sasl.username");
  std::string mechanism = value_of(properties, "sasl.mechanism");
  if (mechanism.empty()) mechanism = value_of(properties, "sasl.mechanisms");
  if (mechanism.empty()) mechanism = "GSSAPI";
  return (user.empty() ? "this client" : "user " + user) + " (" + mechanism + ")";
}

}  // namespace

// The words are librdkafka's and OpenSSL's, in English everywhere.
Finding broker_problem(const std::string& brokers, const std::map<std::string, std::string>& properties,
                       const std::string& warning) {
  const std::string subject = "brokers " + brokers;
  const std::string lower = base::lower(warning);
  const auto says = [&](std::string_view words) { return lower.find(words) != std::string::npos; };
  // An early end is noticed by the reader or by the writer.
  const bool closes = kafka::is_closed_at_once(warning) && (says("disconnected") || says("send failed"));
  const bool has_tls = says("ssl://"), has_login = says("sasl_");
  if (says("require sasl authentication") || (closes && says("in state up") && !has_tls && !has_login)) {
    return {Kind::problem, subject,
            "it closes each connection: if it wants a login, set security.protocol, sasl.mechanism, sasl.username and "
            "sasl.password in kafka.properties (" +
                warning + ")"};
  }
  constexpr std::string_view no_token = "failed to acquire sasl oauthbearer token: ";
  if (const auto at = lower.find(no_token); at != std::string::npos) {
    return {Kind::refused, subject, "no token to log in with: " + warning.substr(at + no_token.size())};
  }
  if (says("sasl authentication") || says("authentication failed") || says("unsupported_sasl_mechanism") ||
      says("unsupported sasl mechanism")) {
    const std::string login = login_of(properties);
    const bool has_token = login.ends_with("(OAUTHBEARER)");
    const std::string file = value_of(properties, "sasl.oauthbearer.token.file");
    const std::string of_token = (file.empty() ? "" : "the token in " + file + " or ") + "sasl.oauthbearer.*";
    return {Kind::refused, subject,
            "the broker refuses " + login + ": correct " +
                (has_token ? of_token : "sasl.username, sasl.password or sasl.mechanism") +
                " in kafka.properties (" + warning + ")"};
  }
  // Alerts are the broker's.
  if (says("alert certificate") || says("alert bad certificate") || says("alert unknown ca") ||
      says("certificate required") || says("alert handshake failure")) {
    return {Kind::refused, subject,
            "the broker does not accept this client's certificate: set ssl.certificate.location and ssl.key.location "
            "in kafka.properties, or renew the certificate (" +
                warning + ")"};
  }
  if (says("certificate verify failed") || says("unknown ca") || says("self-signed") || says("hostname mismatch")) {
    return {Kind::refused, subject,
            "its certificate is not accepted: set ssl.ca.location in kafka.properties to the certificate authority, "
            "and use the host name of the certificate in kafka.brokers (" +
                warning + ")"};
  }
  if (says("connecting to a ssl listener") || says("incorrect security.protocol")) {
    return {Kind::refused, subject,
            "it answers, but not in plaintext: set security.protocol in kafka.properties to ssl or sasl_ssl (" +
                warning + ")"};
  }
  if (closes && says("in state apiversion_query") && !has_tls) {
    return {Kind::problem, subject,
            "it closes each connection before it answers, as a listener with TLS does to a client in plaintext: set "
            "security.protocol in kafka.properties to ssl or sasl_ssl (" +
                warning + ")"};
  }
  if (says("connecting to a plaintext broker listener") || says("wrong version number")) {
    return {Kind::refused, subject,
            "it answers, but not with TLS: set security.protocol in kafka.properties to plaintext or sasl_plaintext (" +
                warning + ")"};
  }
  if (closes && has_tls && !has_login) {
    return {Kind::problem, subject,
            "it closes each connection with TLS: if it wants a login, set security.protocol to sasl_ssl, and "
            "sasl.mechanism, sasl.username and sasl.password in kafka.properties; else correct kafka.brokers (" +
                warning + ")"};
  }
  return {Kind::unreachable, subject,
          "not reached" + (warning.empty() ? "" : ": " + warning) + "; correct kafka.brokers or open the network"};
}

}  // namespace inboxd::operations
