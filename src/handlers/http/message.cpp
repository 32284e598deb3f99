#include "message.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "../shared/encoding.hpp"

namespace http_handler {
namespace {

using Json = nlohmann::ordered_json;
using Attributes = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t longest_attribute = 4'096;  // bytes; a longer one is left out
constexpr std::size_t longest_trace_state = 512;  // W3C Trace Context
constexpr std::size_t most_extensions = 32;       // of the producer
constexpr std::string_view any_bytes = "application/octet-stream", json_type = "application/json";

/// The data of an event: its payload, or the data inside of a CloudEvents envelope.
struct Data {
  std::optional<std::string> bytes;  ///< nullopt: a tombstone
  std::string media_type;
  bool is_json = false;
};

/// A stranger's value for a header, in one line.
bool is_line(std::string_view text, std::size_t longest) {
  const auto fits = [](char c) { return c >= ' ' && c < '\x7f'; };
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), fits);
}

bool is_media_type(std::string_view text) { return is_line(text, 200); }

std::string text_in(const Json& map, const char* name) {
  const auto found = map.find(name);
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<Data> unwrapped(std::string_view payload) {
  const Json envelope = Json::parse(payload, nullptr, false);
  if (!envelope.is_object() || !envelope.contains("specversion") || !envelope.contains("id")) return std::nullopt;
  const std::string declared = text_in(envelope, "datacontenttype");
  const std::string type = is_media_type(declared) ? declared : std::string{json_type};
  if (envelope.contains("data_base64")) return Data{handlers::from_base64(text_in(envelope, "data_base64")), type};
  if (!envelope.contains("data")) return Data{std::nullopt, type};
  const Json& data = envelope["data"];
  if (data.is_string() && type.find("json") == std::string::npos) return Data{data.get<std::string>(), type};
  return Data{data.dump(-1, ' ', false, Json::error_handler_t::replace), type, true};
}

Data data_of(const inboxd::Event& event) {
  const inboxd::MaybeText payload = event.payload();
  if (!payload) return {std::nullopt, std::string{json_type}};
  const std::string_view declared = event.header("content-type").value_or("");
  const bool is_json = nlohmann::json::accept(*payload);
  if (is_json && payload->find("\"specversion\"") != std::string_view::npos && !handlers::is_deep(*payload)) {
    if (auto inner = unwrapped(*payload)) return *std::move(inner);
  }
  if (is_media_type(declared) && !declared.starts_with("application/cloudevents")) {
    return {std::string{*payload}, std::string{declared}, is_json};
  }
  return {std::string{*payload}, std::string{is_json ? json_type : any_bytes}, is_json};
}

bool is_utf8(std::string_view text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

/// Attributes of CloudEvents that a producer wrote as headers `ce_NAME`.
void add_extensions(const inboxd::Event& event, Attributes& to) {
  std::size_t count = 0;
  for (const inboxd::Header& header : event.headers()) {
    if (!header.name.starts_with("ce_") && !header.name.starts_with("ce-")) continue;
    const std::string name{header.name.substr(3)};
    const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
    const bool is_known = std::any_of(to.begin(), to.end(), [&](const auto& each) { return each.first == name; }) ||
                          name == "tombstone" || name == "partitionkey" || name == "partitionkeybase64" ||
                          name == "time" || name == "subject" || name == "datacontenttype" || name == "data";
    if (name.empty() || name.size() > 20 || !std::all_of(name.begin(), name.end(), is_plain) || is_known) continue;
    if (!header.value || header.value->size() > longest_attribute || !is_utf8(*header.value)) continue;
    if (++count > most_extensions) return;
    to.emplace_back(name, *header.value);
  }
}

Attributes attributes_of(const Target& target, inboxd::Call& call, const inboxd::Event& event) {
  Attributes out{{"specversion", "1.0"}, {"id", event.source_id()}};
  const auto add = [&](const char* name, inboxd::MaybeText value) {
    if (value && !value->empty() && value->size() <= longest_attribute) out.emplace_back(name, *value);
  };
  out.emplace_back("source", event.source().value_or("").empty() ? "/" + handlers::percent_encoded(event.topic())
                                                                 : std::string{*event.source()});
  out.emplace_back("type", event.type());
  add("subject", event.subject());
  if (const auto time = event.occurred_at()) out.emplace_back("time", handlers::time_text(time->time_since_epoch()));
  if (const auto key = event.key(); key && is_utf8(*key)) {
    add("partitionkey", key);
  } else if (key) {
    add("partitionkeybase64", handlers::base64(*key));
  }
  out.emplace_back("kafkatopic", event.topic());
  out.emplace_back("kafkapartition", std::to_string(event.partition()));
  out.emplace_back("kafkaoffset", std::to_string(event.offset()));
  out.emplace_back("attempt", std::to_string(event.attempt()));
  if (!event.payload()) out.emplace_back("tombstone", "true");
  if (target.style != Style::cloudevents_binary) add("traceparent", call.traceparent(event));
  if (target.style == Style::dapr) {
    out.emplace_back("topic", event.topic());
    out.emplace_back("pubsubname", "inboxd");
  }
  add_extensions(event, out);
  return out;
}

/// By the HTTP binding of CloudEvents: blanks, `"`, `%` and everything outside of ASCII as %XX.
std::string header_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = c > ' ' && c < '\x7f' && c != '"' && c != '%';
    out += is_plain ? std::string{c} : handlers::percent_encoded({&c, 1});
  }
  return out;
}

std::string structured(const Target& target, inboxd::Call& call, const inboxd::Event& event) {
  Json envelope = Json::object();
  for (const auto& [name, value] : attributes_of(target, call, event)) envelope[name] = value;
  const Data data = data_of(event);
  if (data.bytes) {
    envelope["datacontenttype"] = data.media_type;
    if (!data.is_json) envelope["data_base64"] = handlers::base64(*data.bytes);
  }
  std::string out = envelope.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (!data.bytes || !data.is_json) return out;
  out.pop_back();  // the data as it is: a parser would change large numbers
  return out + ",\"data\":" + *data.bytes + "}";
}

void finish(const Target& target, const std::string& id, Message& message) {
  message.headers.push_back("Idempotency-Key: " + id);
  message.headers.push_back("webhook-id: " + id);
  message.headers.insert(message.headers.end(), target.headers.begin(), target.headers.end());
  if (!target.signer.is_on()) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto timestamp = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  message.headers.push_back("webhook-timestamp: " + std::to_string(timestamp));
  message.headers.push_back("webhook-signature: " + target.signer.sign(id, timestamp, message.body));
}

std::string digest_of(const inboxd::Events& events) {
  std::string ids;
  for (const inboxd::Event event : events) ids += event.id();
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(ids.data(), ids.size(), digest, &size, EVP_sha256(), nullptr);
  return "batch-" + handlers::base64({reinterpret_cast<const char*>(digest), 24});
}

}  // namespace

Message message_of(const Target& target, inboxd::Call& call, const inboxd::Event& event) {
  Message out;
  if (target.style == Style::cloudevents_binary) {
    Data data = data_of(event);
    for (const auto& [name, value] : attributes_of(target, call, event)) {
      out.headers.push_back("ce-" + name + ": " + header_value(value));
    }
    if (data.bytes) out.headers.push_back("Content-Type: " + data.media_type);
    if (!data.bytes) out.headers.emplace_back("Content-Type:");  // curl would add one
    out.body = std::move(data.bytes).value_or("");
  } else {
    out.headers.emplace_back("Content-Type: application/cloudevents+json; charset=utf-8");
    out.body = structured(target, call, event);
  }
  if (const auto parent = call.traceparent(event)) out.headers.push_back("traceparent: " + header_value(*parent));
  if (const auto state = call.tracestate(event)) {
    if (is_line(*state, longest_trace_state)) out.headers.push_back("tracestate: " + std::string{*state});
  }
  finish(target, event.id(), out);
  return out;
}

Message batch_of(const Target& target, inboxd::Call& call, const inboxd::Events& events) {
  Message out;
  out.headers.emplace_back("Content-Type: application/cloudevents-batch+json; charset=utf-8");
  for (const inboxd::Event event : events) {
    out.body += (out.body.empty() ? "[" : ",") + structured(target, call, event);
  }
  out.body += "]";
  finish(target, digest_of(events), out);
  return out;
}

}  // namespace http_handler
