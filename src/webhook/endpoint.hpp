#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "admin/http_message.hpp"
#include "config/settings.hpp"
#include "envelope/decode.hpp"
#include "webhook/posted.hpp"

namespace inboxd::webhook {

/// A topic that takes events over HTTP: how its requests are read.
struct Endpoint {
  Endpoint(const config::Topic& topic, const std::string& name_space);

  config::TopicHttp http;
  bool accepts_cloudevents = true;   ///< neither a signature nor the topic's own rules say where the id is
  bool needs_cloudevents = false;    ///< envelope: cloudevents
  bool id_decides = false;           ///< another payload under a known id is a repetition, too
  envelope::TopicRules rules;        ///< of a request that is no CloudEvent
  envelope::TopicRules cloudevents;  ///< of a CloudEvent
};

/// By topic.
using Endpoints = std::map<std::string, Endpoint, std::less<>>;
Endpoints endpoints_of(const config::Settings& settings);

/// Reads the events of a request into `posted.events`, or returns why there are none. `max_events`: of a batch.
std::optional<admin::HttpResponse> read_events(const Endpoint& endpoint, std::size_t max_events, Posted& posted);

/// The value of a `ce-` header as the attribute that it means: without quotes, percent-encoding decoded once.
std::string attribute_text(std::string_view value);

}  // namespace inboxd::webhook
