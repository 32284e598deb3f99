// CloudEvents 1.0 (and 0.3), https://github.com/cloudevents/spec: the structured and binary content modes of the Kafka
// binding, and the JSON format without its content type. Dapr and some SDKs write the latter; Dapr adds `pubsubname`.
// An event's identity is its source and its id; the id is any string.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "envelope/amqp.hpp"
#include "envelope/rule.hpp"
#include "envelope/time.hpp"

namespace inboxd::envelope {
namespace {

constexpr std::string_view media_type = "application/cloudevents";

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() < lower.size()) return false;
  for (std::size_t i = 0; i < lower.size(); ++i) {
    if (base::lower(text[i]) != lower[i]) return false;
  }
  return true;
}

const event::Header* find_content_type(const std::vector<event::Header>& headers) {
  constexpr std::string_view name = "content-type";
  for (auto it = headers.rbegin(); it != headers.rend(); ++it) {
    if (it->name.size() == name.size() && starts_with_ignoring_case(it->name, name)) return &*it;
  }
  return nullptr;
}

/// The rest after `application/cloudevents` in the content type, without parameters: `+json`, `-batch+json`, empty.
std::optional<std::string_view> cloudevents_format(std::string_view content_type) {
  content_type.remove_prefix(std::min(content_type.find_first_not_of(" \t"), content_type.size()));
  if (!starts_with_ignoring_case(content_type, media_type)) return std::nullopt;
  const std::string_view rest = content_type.substr(media_type.size());
  if (!rest.empty() && std::string_view{"+-; \t"}.find(rest[0]) == std::string_view::npos) return std::nullopt;
  return rest.substr(0, rest.find_first_of("; \t"));
}

/// The attribute that a header names: `ce_NAME`, `ce-NAME` as in HTTP, or `cloudEvents:NAME` and `cloudEvents_NAME` as
/// in AMQP, whose application properties Azure Event Hubs hands over as headers. Empty: none.
std::string_view attribute_name(std::string_view header) {
  using namespace std::string_view_literals;
  if (!header.starts_with('c')) return {};
  for (const std::string_view prefix : {"ce_"sv, "ce-"sv, "cloudEvents:"sv, "cloudEvents_"sv}) {
    if (header.starts_with(prefix)) return header.substr(prefix.size());
  }
  return {};
}

/// Of several headers the last counts.
const event::Header* find_attribute(const std::vector<event::Header>& headers, std::string_view name) {
  for (auto it = headers.rbegin(); it != headers.rend(); ++it) {
    if (attribute_name(it->name) == name) return &*it;
  }
  return nullptr;
}

event::MaybeBytes text_of(const event::Header* header, base::Arena& arena) {
  return header != nullptr ? producer_text(header->value, arena) : std::nullopt;
}

void require_identity(const Input& in, Reading& out) {
  out.uniqueness = Uniqueness::source_and_id;
  if (out.source && out.source->empty()) out.source.reset();
  if (!out.id) out.complain(Rejection::no_id, "a CloudEvent without id");
  if (!out.source) out.complain(Rejection::no_id, "a CloudEvent without source, half of its identity");
  require(in, out, out.source.has_value(), "a CloudEvent without source");
  require(in, out, out.type && !out.type->empty(), "a CloudEvent without type");
}

/// AMQP has timestamps of its own: milliseconds, and no text.
std::optional<event::Microseconds> time_in(const event::Header* header, base::Arena& arena) {
  const auto text = text_of(header, arena);
  if (!text) return std::nullopt;
  const bool is_amqp = header->value->starts_with(amqp_timestamp);
  return is_amqp ? parse_time(*text, config::TimeUnit::ms) : parse_rfc3339(*text);
}

enum Attribute : std::size_t { id, source, type, specversion, subject, time, pubsub, op, attributes };
using Attributes = std::array<JsonValue, attributes>;

std::string_view find_attributes(const Input& in, Attributes& found) {
  constexpr std::array<std::string_view, attributes> pointers{"/id",      "/source", "/type",      "/specversion",
                                                              "/subject", "/time",   "/pubsubname", "/iodebeziumop"};
  return find_in_json(*in.value(), pointers, found, in.arena, in.rules.topic.unwrap);
}

void take_attributes(const Input& in, const Attributes& found, Reading& out) {
  take_id(out, found[id], Numbers::refused);
  take_attribute(out, out.source, "source", found[source], Numbers::refused);
  take_attribute(out, out.type, "type", found[type], Numbers::refused);
  take_attribute(out, out.subject, "subject", found[subject], Numbers::refused);
  if (found[time].is_text()) out.occurred_at = parse_rfc3339(found[time].text);
  require(in, out, found[specversion].is_text(), "a CloudEvent without specversion");
  require_identity(in, out);
  if (!out.type || !out.type->starts_with("io.debezium.")) return;
  // Debezium's converter makes the id of the position in the database's log, which rows may share.
  identify_by_row(in, out);
  // A changed primary key is two changes of a row at one position.
  if (out.id && found[op].is_text()) {
    out.id = in.arena.copy(std::string{*out.id} + ";op:" + std::string{found[op].text});
  }
  if (!out.key) out.complain(Rejection::no_id, "a change event without a key: rows may share its CloudEvents id");
}

/// Whether the value has all that makes JSON a CloudEvent; if not, `why` says so.
bool find_event(const Input& in, Attributes& found, std::string* why) {
  if (!in.value() || !mentions_key(*in.value(), "specversion", 'v')) {
    return no_match(why, "the value has no \"specversion\"");
  }
  const std::string_view problem = find_attributes(in, found);
  if (!problem.empty()) return no_match(why, "the value is not JSON: ", problem);
  const bool has_id = found[id].kind != JsonValue::Kind::none && found[id].kind != JsonValue::Kind::null;
  if (has_id && found[specversion].is_text() && found[source].is_text() && found[type].is_text()) return true;
  return no_match(why, "the value is JSON, but lacks specversion, id, source or type at its top level");
}

}  // namespace

bool read_cloudevents_structured(const Input& in, Reading& out, std::string* why) {
  const event::Header* const header = find_content_type(in.record.headers);
  const event::MaybeBytes content_type = text_of(header, in.arena);
  if (!content_type) return no_match(why, "there is no header content-type");
  const auto format = cloudevents_format(*content_type);
  if (!format) return no_match(why, "header content-type is ", Quoted{*content_type});
  say(why, "header content-type is ", Quoted{*content_type});
  if (!in.value()) {
    out.complain(Rejection::no_id, "a structured CloudEvent whose value is null");
  } else if (starts_with_ignoring_case(*format, "-batch")) {
    out.complain(Rejection::undecodable, "a batch of CloudEvents in one record: a record is one event");
  } else if (!format->empty() && !(format->size() == 5 && starts_with_ignoring_case(*format, "+json"))) {
    out.complain(Rejection::undecodable, "a structured CloudEvent in a format other than JSON");
  } else {
    Attributes found;
    const std::string_view problem = find_attributes(in, found);
    if (problem.empty()) take_attributes(in, found, out);
    else out.complain(Rejection::undecodable, "a structured CloudEvent whose value is not JSON: ", problem);
  }
  return true;
}

bool read_cloudevents_binary(const Input& in, Reading& out, std::string* why) {
  const auto& headers = in.record.headers;
  const event::Header* const id_header = find_attribute(headers, "id");
  const event::Header* const version = find_attribute(headers, "specversion");
  if (id_header == nullptr && version == nullptr) return no_match(why, "there is no header ce_id or ce_specversion");
  say(why, "there is a header ", id_header != nullptr ? id_header->name : version->name);
  out.id = text_of(id_header, in.arena);
  out.source = text_of(find_attribute(headers, "source"), in.arena);
  out.type = text_of(find_attribute(headers, "type"), in.arena);
  out.subject = text_of(find_attribute(headers, "subject"), in.arena);
  out.occurred_at = time_in(find_attribute(headers, "time"), in.arena);
  require(in, out, version != nullptr && version->value, "a CloudEvent without specversion");
  require_identity(in, out);
  return true;
}

bool read_dapr(const Input& in, Reading& out, std::string* why) {
  if (!in.value() || !mentions_key(*in.value(), "pubsubname", 'b')) {
    return no_match(why, "the value has no \"pubsubname\"");
  }
  Attributes found;
  if (!find_event(in, found, why)) return false;
  if (!found[pubsub].is_text()) return no_match(why, "the value is a CloudEvent without pubsubname at its top level");
  say(why, "the value is a CloudEvent with pubsubname");
  take_attributes(in, found, out);
  return true;
}

bool read_cloudevents_in_value(const Input& in, Reading& out, std::string* why) {
  Attributes found;
  if (!find_event(in, found, why)) return false;
  say(why, "the value is JSON with specversion, id, source and type");
  take_attributes(in, found, out);
  return true;
}

}  // namespace inboxd::envelope
