#include "config/checks_http.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/base64.hpp"

namespace inboxd::config {
namespace {

bool is_base64(const std::string& secret) {
  const auto key = base::from_base64(std::string_view{secret}.substr(secret.starts_with("whsec_") ? 6 : 0));
  return key && !key->empty();  // anybody can sign with an empty key
}

/// Headers that grant access or prove who sent a request: they are never kept.
bool is_credential(const std::string& header) {
  static constexpr std::array<std::string_view, 8> names{
      "authorization",  "cookie",           "proxy-authorization", "stripe-signature", "x-hub-signature",
      "webhook-signature", "x-hub-signature-256", "x-api-key"};
  return std::ranges::find(names, header) != names.end();
}

constexpr std::uint64_t max_held_bytes = 2ULL << 30;

/// Bodies are in memory before the sender is known.
void check_http_memory(const Settings& settings, Reading& reading) {
  const std::string key = "ingest.http.body_limit";
  const auto& http = settings.ingest.http;
  if (!settings.ingest.is_listening()) return;
  if (static_cast<std::uint64_t>(http.connections) * http.body_limit > max_held_bytes) {
    reading.findings.warning(reading.mentioned.nearest(key), key,
                             "clients without a token can have ingest.http.connections times as much in memory, above "
                             "2 GiB; lower one of them");
  }
  const auto senders = std::ranges::count_if(settings.topics, [](const Topic& topic) { return topic.http.is_on(); });
  if (senders > 1 && http.waiting_bytes < 4 * http.body_limit) {
    reading.findings.warning(reading.mentioned.nearest(key), key,
                             "a large body may find no room beside others: half of ingest.http.waiting_bytes is for "
                             "one topic; raise waiting_bytes to at least four times body_limit");
  }
}

}  // namespace

void complain(Reading& reading, std::initializer_list<std::string> keys, const std::string& sentence) {
  for (const std::string& key : keys) {
    if (reading.mentioned.is_spoilt(key)) return;
  }
  for (const std::string& key : keys) {
    if (reading.mentioned.has(key)) return reading.problem(reading.mentioned.nearest(key), key, sentence);
  }
  reading.problem(reading.mentioned.nearest(*keys.begin()), *keys.begin(), sentence);
}

std::string item_key(const char* list, std::size_t index) {
  return std::string{list} + "[" + std::to_string(index) + "]";
}

bool is_word(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

void check_port(const std::string& port, const std::string& listen, const PortTls& tls, Reading& reading) {
  const auto& [certificate, key, client_ca] = tls;
  const std::string certificate_key = port + ".tls.certificate";
  if (certificate.empty() != key.empty()) {
    complain(reading, {certificate_key, port + ".tls.key"}, "certificate and key come together; set both or none");
  } else if (certificate.empty() && !client_ca.empty()) {
    complain(reading, {port + ".tls.client_ca"},
             "no effect without " + certificate_key + "; set that, or remove this key");
  } else if (!certificate.empty() && listen == "off") {
    complain(reading, {certificate_key}, "no effect while " + port + ".listen is off; remove " + port + ".tls");
  }
  if (listen == "off") return;
  const int number = std::atoi(listen.c_str() + listen.rfind(':') + 1);
  if (number < 1 || number > 65'535) complain(reading, {port + ".listen"}, "the port must be from 1 to 65535");
}

/// Offline, secrets are unknown: a key that is in the file counts.
void check_topic_http(const Settings& settings, const Topic& topic, const std::string& key, Reading& reading) {
  const auto has = [&](const char* name) { return reading.mentioned.has(key + name); };
  const bool is_signed = topic.http.scheme != SignatureScheme::none;
  if (!has(".http.token") && !is_signed && !topic.http.open) {
    complain(reading, {key + ".http"}, "nobody may post to this topic; set token, verify.scheme or open: true");
  }
  if (topic.http.open && (has(".http.token") || is_signed)) {
    complain(reading, {key + ".http.open"}, "contradicts http.token and http.verify; remove this key or those");
  }
  if (is_signed != has(".http.verify.secret")) {
    complain(reading, {key + ".http.verify"}, "scheme and secret come together; set both or none");
  }
  if (!std::ranges::all_of(topic.http.tokens, is_word)) {
    complain(reading, {key + ".http.token"}, "a token must be printable ASCII without spaces; choose another");
  }
  if (topic.http.scheme == SignatureScheme::standard_webhooks && !std::ranges::all_of(topic.http.secrets, is_base64)) {
    complain(reading, {key + ".http.verify.secret"},
             "a secret of standard-webhooks is base64, with or without whsec_ before it; correct it");
  }
  for (const std::string& header : topic.http.headers) {
    if (is_credential(header)) {
      complain(reading, {key + ".http.headers"}, "'" + header + "' is a credential, and never kept; remove it");
    }
  }
  if (topic.envelope != EnvelopeKind::automatic && topic.envelope != EnvelopeKind::cloudevents &&
      topic.envelope != EnvelopeKind::custom) {
    complain(reading, {key + ".envelope"},
             "over HTTP an event is read as auto, cloudevents or custom; use one of them");
  }
  if (topic.value.kind != FormatKind::automatic && topic.value.kind != FormatKind::json) {
    complain(reading, {key + ".value.format"}, "over HTTP a value is auto or json; use one of them");
  }
  const bool is_above = topic.payload_limit > settings.ingest.http.body_limit;
  if (settings.ingest.is_listening() && has(".payload_limit") && is_above) {
    reading.findings.warning(reading.mentioned.nearest(key + ".payload_limit"), key + ".payload_limit",
                             "requests above ingest.http.body_limit get 413 before this limit holds; raise that key, "
                             "or lower this one");
  }
  if (!settings.ingest.is_listening()) {  // another instance may listen
    reading.findings.warning(reading.mentioned.nearest(key + ".http"), key + ".http",
                             "no effect while ingest.listen is off");
  }
}

void check_ingest_port(const Settings& settings, Reading& reading) {
  check_port("ingest", settings.ingest.listen, settings.ingest.tls, reading);
  check_http_memory(settings, reading);
  bool has_topic = false;
  for (std::size_t i = 0; i < settings.topics.size(); ++i) {
    has_topic = has_topic || reading.mentioned.has(item_key("topics", i) + ".http");
  }
  if (settings.ingest.is_listening() && !has_topic) {  // a reload may add one
    reading.findings.warning(reading.mentioned.nearest("ingest.listen"), "ingest.listen",
                             "no topic takes events over HTTP; set topics[].http, or remove this key");
  }
}

}  // namespace inboxd::config
