#include "message.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "../shared/encoding.hpp"
#include "../shared/json_members.hpp"

namespace http_handler {
namespace {

using Json = nlohmann::ordered_json;
using Attributes = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t max_attribute = 4'096;  // bytes; a longer attribute is left out
constexpr std::size_t max_trace_state = 512;  // W3C Trace Context
constexpr std::size_t max_extensions = 32;    // of the producer
constexpr std::string_view any_bytes = "application/octet-stream", json_type = "application/json";

/// Of a request, or of an element of a batch.
enum class Form { binary, structured, element };

/// The data of an event: its payload, or the data inside of a CloudEvents envelope.
struct Data {
  std::optional<std::string> bytes;  ///< nullopt: a tombstone
  std::string media_type;
  bool is_json = false;
  Attributes extensions = {};  ///< further attributes of the envelope
};

/// A stranger's value for a header, in a single line.
bool is_line(std::string_view text, std::size_t longest) {
  const auto fits = [](char c) { return c >= ' ' && c < '\x7f'; };
  return !text.empty() && text.size() <= longest && std::all_of(text.begin(), text.end(), fits);
}

bool is_media_type(std::string_view text) { return is_line(text, 200); }

using Members = std::vector<handlers::JsonMember>;

/// The last member of this name, as in PostgreSQL's jsonb; null: none.
const handlers::JsonMember* find(const Members& members, std::string_view name) {
  const auto has_name = [&](const handlers::JsonMember& each) { return each.name == name; };
  const auto found = std::find_if(members.rbegin(), members.rend(), has_name);
  return found == members.rend() ? nullptr : &*found;
}

bool is_string(std::string_view raw) { return raw.starts_with('"'); }

/// nullopt: it is no string, or it holds a lone surrogate.
std::optional<std::string> string_in(std::string_view raw) {
  const Json value = is_string(raw) ? Json::parse(raw, nullptr, false) : Json{};
  return value.is_string() ? std::optional{value.get<std::string>()} : std::nullopt;
}

std::string text_in(const Members& members, std::string_view name) {
  const auto* const found = find(members, name);
  return found == nullptr ? "" : string_in(found->raw).value_or("");
}

/// An attribute of the producer that is passed on as it is.
bool is_extension(const std::string& name) {
  static constexpr std::array others{"tombstone",       "partitionkey", "partitionkeybase64", "time", "subject",
                                     "datacontenttype", "data"};
  const auto is_plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 20 && std::all_of(name.begin(), name.end(), is_plain) &&
         std::find(others.begin(), others.end(), name) == others.end();
}

/// The extensions of an envelope. A CloudEvent has texts, numbers and truth values.
Attributes extensions_in(const Members& envelope) {
  Attributes out;
  for (const auto& [name, raw] : envelope) {
    if (!is_extension(name)) continue;
    const bool is_text = is_string(raw);
    if (const auto text = string_in(raw)) out.emplace_back(name, *text);
    if (!is_text && !raw.starts_with('{') && !raw.starts_with('[') && raw != "null") out.emplace_back(name, raw);
  }
  return out;
}

std::optional<Data> unwrapped(std::string_view json) {
  const Members envelope = handlers::json_members(json);
  if (find(envelope, "specversion") == nullptr || find(envelope, "id") == nullptr) return std::nullopt;
  const std::string declared = text_in(envelope, "datacontenttype");
  Data out{std::nullopt, is_media_type(declared) ? declared : std::string{json_type}, false, extensions_in(envelope)};
  if (find(envelope, "data_base64") != nullptr) {
    out.bytes = handlers::from_base64(text_in(envelope, "data_base64"));
    if (!out.bytes && !text_in(envelope, "data_base64").empty()) return std::nullopt;  // sent as it is, not emptied
  } else if (const auto* const data = find(envelope, "data")) {
    const auto text = string_in(data->raw);
    out.is_json = !text || out.media_type.find("json") != std::string::npos;
    out.bytes = out.is_json ? std::string{data->raw} : *text;
  }
  return out;
}

Data data_of(const Target& target, const inboxd::Event& event) {
  const inboxd::MaybeText payload = event.payload();
  if (!payload) return {std::nullopt, std::string{json_type}};
  const std::string_view declared = event.header("content-type").value_or("");
  if (target.sends_raw) {
    const bool is_kept = is_media_type(declared) && !declared.starts_with("application/cloudevents");
    return {std::string{*payload}, std::string{is_kept ? declared : any_bytes}, false};
  }
  const inboxd::MaybeText json = event.json();
  if (json && json->find("\"specversion\"") != std::string_view::npos) {
    if (auto inner = unwrapped(*json)) return *std::move(inner);
  }
  const std::string bytes{json ? *json : *payload};
  const bool names_format = declared.find("avro") != std::string_view::npos ||
                            declared.find("protobuf") != std::string_view::npos;  // of the payload, not of its JSON
  if (is_media_type(declared) && !declared.starts_with("application/cloudevents") && !(json && names_format)) {
    return {bytes, std::string{declared}, json.has_value()};
  }
  return {bytes, std::string{json ? json_type : any_bytes}, json.has_value()};
}

bool is_utf8(std::string_view text) {
  try {
    (void)Json(text).dump();
    return true;
  } catch (const Json::type_error&) {
    return false;
  }
}

/// Further attributes of the producer's CloudEvent, in its envelope or as headers `ce_NAME`. The envelope's win.
void add_extensions(const inboxd::Event& event, const Data& data, Attributes& to) {
  std::size_t count = 0;
  const auto add = [&](const std::string& name, std::string_view value) {
    const bool is_known = std::any_of(to.begin(), to.end(), [&](const auto& each) { return each.first == name; });
    if (is_known || value.size() > max_attribute || count == max_extensions) return;
    ++count;
    to.emplace_back(name, value);
  };
  for (const auto& [name, value] : data.extensions) add(name, value);
  for (const inboxd::Header& header : event.headers()) {
    if (!header.name.starts_with("ce_") && !header.name.starts_with("ce-")) continue;
    const std::string name{header.name.substr(3)};
    if (is_extension(name) && header.value && is_utf8(*header.value)) add(name, *header.value);
  }
}

Attributes attributes_of(const Target& target, Form form, inboxd::Call& call, const inboxd::Event& event,
                         const Data& data) {
  Attributes out{{"specversion", "1.0"}, {"id", event.source_id()}};
  const auto add = [&](const char* name, inboxd::MaybeText value) {
    if (value && !value->empty() && value->size() <= max_attribute) out.emplace_back(name, *value);
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
  if (form != Form::binary) add("traceparent", call.traceparent(event));
  if (form == Form::element) out.emplace_back("idempotencykey", event.id());
  if (target.style == Style::dapr) {
    out.emplace_back("topic", event.topic());
    out.emplace_back("pubsubname", "inboxd");
  }
  add_extensions(event, data, out);
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

std::string structured(const Target& target, Form form, inboxd::Call& call, const inboxd::Event& event) {
  Json envelope = Json::object();
  const Data data = data_of(target, event);
  for (const auto& [name, value] : attributes_of(target, form, call, event, data)) envelope[name] = value;
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

void add_trace(inboxd::Call& call, const inboxd::Event& event, Message& message) {
  if (const auto parent = call.traceparent(event)) message.headers.push_back("traceparent: " + header_value(*parent));
  if (const auto state = call.tracestate(event)) {
    if (is_line(*state, max_trace_state)) message.headers.push_back("tracestate: " + std::string{*state});
  }
}

std::string digest_of(const std::vector<inboxd::Event>& events) {
  std::string ids;
  for (const inboxd::Event& event : events) ids += event.id();
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  EVP_Digest(ids.data(), ids.size(), digest, &size, EVP_sha256(), nullptr);
  return "batch-" + handlers::base64({reinterpret_cast<const char*>(digest), 24});
}

}  // namespace

Message message_of(const Target& target, inboxd::Call& call, const inboxd::Event& event) {
  Message out;
  if (target.style == Style::cloudevents_binary) {
    Data data = data_of(target, event);
    for (const auto& [name, value] : attributes_of(target, Form::binary, call, event, data)) {
      out.headers.push_back("ce-" + name + ": " + header_value(value));
    }
    if (data.bytes) out.headers.push_back("Content-Type: " + data.media_type);
    if (!data.bytes) out.headers.emplace_back("Content-Type:");  // curl would add a content type
    out.body = std::move(data.bytes).value_or("");
  } else {
    out.headers.emplace_back("Content-Type: application/cloudevents+json; charset=utf-8");
    out.body = structured(target, Form::structured, call, event);
  }
  add_trace(call, event, out);
  finish(target, event.id(), out);
  return out;
}

Message batch_of(const Target& target, inboxd::Call& call, const std::vector<inboxd::Event>& events) {
  Message out;
  out.headers.emplace_back("Content-Type: application/cloudevents-batch+json; charset=utf-8");
  for (const inboxd::Event& event : events) {
    out.body += (out.body.empty() ? "[" : ",") + structured(target, Form::element, call, event);
  }
  out.body += "]";
  if (events.size() == 1) add_trace(call, events[0], out);
  finish(target, events.size() == 1 ? events[0].id() : digest_of(events), out);
  return out;
}

}  // namespace http_handler
