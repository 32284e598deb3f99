#pragma once
#include <chrono>
#include <inboxd/handler.hpp>
#include <set>
#include <string>
#include <vector>

#include "signer.hpp"
#include "url_template.hpp"

namespace http_handler {

enum class Style { cloudevents_binary, cloudevents_structured, dapr };

/// A GET that must succeed before the first event and between others.
struct HealthCheck {
  std::string url;  ///< empty: none
  std::chrono::milliseconds every{5'000};
  std::chrono::milliseconds timeout{2'000};
  int failures = 3;  ///< consecutive failures that make the service unhealthy
};

/// The handler's service, and how it gets events: the settings.
struct Target {
  /// Throws inboxd::SettingsError.
  explicit Target(const inboxd::Settings& settings);

  UrlTemplate url;
  Style style;
  bool posts_batches;  ///< each request is a batch, also of a single event: the handler may get several events a call
  bool sends_raw;      ///< `payload: raw`
  HealthCheck health;
  std::set<long> permanent;  ///< statuses that make a dead letter at once
  Signer signer;
  std::vector<std::string> headers;  ///< `Name: value`, of each request
  std::size_t max_answer;            ///< bytes of an answer's body that are read
  bool defers;                       ///< a Retry-After costs no attempt
  std::chrono::milliseconds max_retry_after;
  std::chrono::milliseconds connect_timeout;
  std::string unix_socket;
  bool may_be_link_local;
  std::string ca, certificate, private_key;  ///< PEM files
};

}  // namespace http_handler
