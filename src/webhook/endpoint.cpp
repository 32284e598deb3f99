#include "webhook/endpoint.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/text.hpp"
#include "base/uuid.hpp"
#include "envelope/json.hpp"
#include "envelope/place.hpp"
#include "event/headers.hpp"
#include "event/json_text.hpp"

namespace inboxd::webhook {
namespace {

using admin::HttpRequest;
using admin::HttpResponse;
using config::EnvelopeKind;
using config::SignatureScheme;

constexpr std::string_view attribute_prefix = "ce-";
/// Kept with each event, in addition to http.headers.
constexpr std::array<std::string_view, 3> kept_headers{"content-type", "traceparent", "tracestate"};
constexpr std::string_view structured = "application/cloudevents+json";

/// Where each kind of sender has its id and its type.
config::CustomRules rules_of(SignatureScheme scheme) {
  config::CustomRules out;
  switch (scheme) {
    case SignatureScheme::none:
      out.id = "header:idempotency-key";
      out.type = "header:inboxd-type";
      break;
    case SignatureScheme::github:
      out.id = "header:x-github-delivery";
      out.type = "header:x-github-event";
      break;
    case SignatureScheme::stripe:
      out.id = "json:/id";
      out.type = "json:/type";
      out.time = "json:/created";
      break;
    case SignatureScheme::standard_webhooks:
      out.id = "header:webhook-id";
      out.type = "json:/type";
      out.time = "json:/timestamp";
      break;
  }
  return out;
}

/// HttpRequest has its names in lower case.
void lower_name(std::string& place) {
  if (place.starts_with(envelope::header_prefix)) place = base::lower(place);
}

std::string media_of(const HttpRequest& request) {
  const std::string* const type = request.header("content-type");
  std::string out = type == nullptr ? "" : base::lower(type->substr(0, type->find(';')));
  while (out.ends_with(' ') || out.ends_with('\t')) out.pop_back();
  return out;
}

HttpResponse rejected(const Endpoint& endpoint, const envelope::Rejected& why, bool is_cloudevent) {
  using envelope::Rejection;
  if (why.reason == Rejection::too_large) {  // the digest at the end is for quarantine
    const std::string detail = why.detail.substr(0, why.detail.find("; digest "));
    return admin::refusal(413, detail + "; raise topics[].payload_limit, or send less");
  }
  if (why.reason != Rejection::no_id || is_cloudevent) {
    return admin::refusal(400, "the event cannot be read: " + why.detail);
  }
  const std::string& place = endpoint.rules.topic.custom.id;
  return admin::refusal(400, "no event id at " + place + (endpoint.accepts_cloudevents ? ", and no CloudEvent" : "") +
                                 "; send one, so that a repeated request makes no second event, or set "
                                 "topics[].on_missing_id");
}

/// Reads the events of a request one by one.
class Reader final {
 public:
  Reader(const Endpoint& endpoint, Posted& posted) : endpoint_{endpoint}, posted_{posted} {}

  std::optional<HttpResponse> read(std::size_t max_events) {
    if (const std::string* const coding = posted_.request.header("content-encoding");
        coding != nullptr && base::lower(*coding) != "identity") {
      return admin::refusal(415, "Content-Encoding is not supported; send the body as it is");
    }
    const std::string media = media_of(posted_.request);
    const std::string_view body = posted_.request.body;
    if (endpoint_.http.scheme != SignatureScheme::none && media == "application/x-www-form-urlencoded" &&
        !event::json_in(body).is_json()) {  // curl and some senders name JSON a form
      return admin::refusal(415, "the body is a form, not JSON; choose application/json in the webhook's settings");
    }
    if (endpoint_.accepts_cloudevents) {
      if (media == "application/cloudevents-batch+json") return read_batch(max_events);
      if (media == structured) return read_structured(body);
      if (media.starts_with("application/cloudevents")) {
        return admin::refusal(415, "of CloudEvents' formats only JSON is supported; send application/cloudevents+json");
      }
      const bool is_binary =
          posted_.request.header("ce-id") != nullptr || posted_.request.header("ce-specversion") != nullptr;
      if (is_binary) return read_binary();
      if (endpoint_.needs_cloudevents) {
        return admin::refusal(415, "no CloudEvent (envelope: cloudevents); send application/cloudevents+json, or "
                                   "headers ce-id, ce-source, ce-type and ce-specversion");
      }
    }
    return read_plain(body);
  }

 private:
  using Headers = std::vector<event::Header>;
  enum class Attributes { left_out, kept };

  /// The request's headers that are kept with its events. A repeated header has no certain value.
  std::optional<HttpResponse> take_headers(Attributes attributes, Headers& out) {
    std::set<std::string_view> seen;
    for (const auto& [name, value] : posted_.request.headers) {
      const bool is_attribute = attributes == Attributes::kept && name.starts_with(attribute_prefix);
      const bool is_kept = is_attribute || std::ranges::find(kept_headers, name) != kept_headers.end() ||
                           std::ranges::find(endpoint_.http.headers, name) != endpoint_.http.headers.end();
      if (!seen.insert(name).second && (is_kept || is_read(name))) {
        return admin::refusal(400, "header " + name + " appears twice; send it once");
      }
      if (!is_kept) continue;
      if (!is_attribute) {
        out.push_back({name, value});
        continue;
      }
      const std::string text = attribute_text(value);
      if (!base::is_database_text(text)) {
        return admin::refusal(400, "header " + name + " is not UTF-8; percent-encode it (CloudEvents HTTP binding)");
      }
      out.push_back({arena().copy("ce_" + name.substr(attribute_prefix.size())), arena().copy(text)});
    }
    return std::nullopt;
  }

  /// Whether the topic's rules read this header.
  bool is_read(std::string_view name) const {
    const config::Topic& topic = endpoint_.rules.topic;
    const auto& custom = topic.custom;
    return std::ranges::any_of(std::array{&custom.id, &custom.type, &custom.source, &custom.subject, &custom.time,
                                          &topic.deliver_at, &endpoint_.http.key},
                               [&](const std::string* place) {
                                 return place->starts_with(envelope::header_prefix) &&
                                        place->substr(envelope::header_prefix.size()) == name;
                               });
  }

  /// The value at http.key.
  event::MaybeBytes key_of(std::string_view body) {
    const std::string_view place = endpoint_.http.key;
    if (place.starts_with(envelope::json_prefix)) return text_at(body, place.substr(envelope::json_prefix.size()));
    const std::string* const value = posted_.request.header(place.substr(envelope::header_prefix.size()));
    return value == nullptr ? event::MaybeBytes{} : *value;
  }

  event::MaybeBytes text_at(std::string_view body, std::string_view pointer) {
    using Kind = envelope::JsonValue::Kind;
    const std::array pointers{pointer};
    std::array<envelope::JsonValue, 1> found;
    envelope::find_in_json(body, pointers, found, arena(), endpoint_.rules.topic.unwrap);
    const bool is_text = found[0].kind == Kind::string || found[0].kind == Kind::number;
    return is_text ? event::MaybeBytes{found[0].text} : std::nullopt;
  }

  std::optional<HttpResponse> read_plain(std::string_view body) {
    Headers kept;
    if (auto refused = take_headers(Attributes::left_out, kept)) return refused;
    Headers read = kept;
    for (const auto& [name, value] : posted_.request.headers) {
      if (is_read(name)) read.push_back({name, value});
    }
    return add(endpoint_.rules, key_of(body), body, kept, std::move(read));
  }

  std::optional<HttpResponse> read_binary() {
    Headers kept;
    if (auto refused = take_headers(Attributes::kept, kept)) return refused;
    const auto* const key = event::find_header(kept, "ce_partitionkey");
    const std::string_view body = posted_.request.body;
    return add(endpoint_.cloudevents, key != nullptr ? key->value : key_of(body), body, kept, kept);
  }

  std::optional<HttpResponse> read_structured(std::string_view body) {
    Headers kept;
    if (auto refused = take_headers(Attributes::left_out, kept)) return refused;
    return add_structured(body, kept);
  }

  std::optional<HttpResponse> read_batch(std::size_t max_events) {
    Headers kept;
    if (auto refused = take_headers(Attributes::left_out, kept)) return refused;
    for (event::Header& header : kept) {
      if (header.name == "content-type") header.value = structured;
    }
    posted_.is_batch = true;
    std::vector<std::string_view> elements;
    switch (envelope::split_objects(posted_.request.body, max_events, elements)) {
      case envelope::Split::done:
        break;
      case envelope::Split::no_objects:
        return admin::refusal(400, "the body is no JSON array of objects; send CloudEvents in a list");
      case envelope::Split::too_many:
        return admin::refusal(413, "the batch has more than " + std::to_string(max_events) +
                                       " events (ingest.http.batch_events); send several batches");
    }
    for (std::size_t i = 0; i < elements.size(); ++i) {
      if (auto refused = add_structured(elements[i], kept)) {
        return admin::refusal(refused->status, "event " + std::to_string(i) + " of the batch, of which nothing is "
                                               "stored: " + std::exchange(why_, {}));
      }
    }
    return std::nullopt;
  }

  std::optional<HttpResponse> add_structured(std::string_view body, const Headers& kept) {
    const auto key = text_at(body, "/partitionkey");
    return add(endpoint_.cloudevents, key ? key : key_of(body), body, kept, kept);
  }

  /// Decodes an event as a record with these headers, and adds it with the headers that are kept.
  std::optional<HttpResponse> add(const envelope::TopicRules& rules, event::MaybeBytes key, std::string_view body,
                                  const Headers& kept, Headers read) {
    if (auto problem = json_problem(body)) {
      why_ = *std::move(problem);
      return admin::refusal(400, why_ + "; send JSON");
    }
    event::Record record;
    record.topic = posted_.topic;
    record.key = key;
    record.payload = body;
    record.headers = std::move(read);
    // A request has no position: a random number makes an id of its own.
    if (rules.topic.on_missing_id == config::OnMissingId::position) record.offset = base::random_fence();
    auto decoded = envelope::decode(record, rules, arena());
    if (const auto* const why = std::get_if<envelope::Rejected>(&decoded)) {
      why_ = why->detail;
      return rejected(endpoint_, *why, &rules == &endpoint_.cloudevents);
    }
    event::Event& event = std::get<event::Event>(decoded);
    event.headers = kept.empty() ? event::MaybeBytes{} : event::pack_headers(kept, arena());
    return add_once(event);
  }

  std::optional<std::string> json_problem(std::string_view body) const {
    if (endpoint_.rules.topic.value.kind != config::FormatKind::json) return std::nullopt;
    const auto problem = event::json_in(body).problem;
    if (problem == event::JsonProblem::none) return std::nullopt;
    return "the payload is not JSON (topics[].value.format): " + std::string{event::sentence_of(problem)};
  }

  std::optional<HttpResponse> add_once(const event::Event& event) {
    const auto [at, is_new] = by_id_.try_emplace(event.event_id, posted_.events.size());
    posted_.places.push_back(at->second);
    if (is_new) {
      posted_.events.push_back(event);
    } else if (posted_.events[at->second].digest != event.digest) {
      why_ = "its id came before in the batch, with another payload or key";
      return admin::refusal(409, why_);
    }
    return std::nullopt;
  }

  base::Arena& arena() { return posted_.arena; }

  const Endpoint& endpoint_;
  Posted& posted_;
  std::map<base::Uuid, std::size_t> by_id_;
  std::string why_;  ///< of the last refusal of `add`
};

}  // namespace

Endpoint::Endpoint(const config::Topic& topic, const std::string& name_space) : http{topic.http} {
  rules = {topic, name_space, ""};
  cloudevents = rules;
  cloudevents.topic.envelope = EnvelopeKind::cloudevents;
  accepts_cloudevents = http.scheme == SignatureScheme::none && topic.envelope != EnvelopeKind::custom;
  needs_cloudevents = topic.envelope == EnvelopeKind::cloudevents;
  config::Topic& own = rules.topic;
  if (own.envelope != EnvelopeKind::custom) own.custom = rules_of(http.scheme);
  own.envelope = EnvelopeKind::custom;
  id_decides = http.scheme == SignatureScheme::stripe && own.custom.id == "json:/id";
  for (std::string* place : {&own.custom.id, &own.custom.type, &own.custom.source, &own.custom.subject,
                             &own.custom.time, &own.deliver_at, &http.key}) {
    lower_name(*place);
  }
  cloudevents.topic.deliver_at = own.deliver_at;
}

Endpoints endpoints_of(const config::Settings& settings) {
  Endpoints out;
  for (const config::Topic& topic : settings.topics) {
    if (topic.http.is_on()) out.emplace(topic.name, Endpoint{topic, settings.kafka.name_space});
  }
  return out;
}

std::optional<HttpResponse> read_events(const Endpoint& endpoint, std::size_t max_events, Posted& posted) {
  posted.id_decides = endpoint.id_decides;
  return Reader{endpoint, posted}.read(max_events);
}

std::string attribute_text(std::string_view value) {
  std::string unquoted;
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    value = value.substr(1, value.size() - 2);
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value[i] == '\\' && i + 1 < value.size()) ++i;
      unquoted += value[i];
    }
    value = unquoted;
  }
  const auto digit = [](char c) {
    const char low = base::lower(c);
    return c >= '0' && c <= '9' ? c - '0' : low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
  };
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const bool is_encoded =
        value[i] == '%' && i + 2 < value.size() && digit(value[i + 1]) >= 0 && digit(value[i + 2]) >= 0;
    out += is_encoded ? static_cast<char>(digit(value[i + 1]) * 16 + digit(value[i + 2])) : value[i];
    if (is_encoded) i += 2;
  }
  return out;
}

}  // namespace inboxd::webhook
