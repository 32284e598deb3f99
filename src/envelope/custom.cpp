// The topic's own rules: `header:NAME`, `json:/pointer` or `key` for each of id, type, source, subject and time.
#include <algorithm>
#include <array>
#include <utility>

#include "envelope/place.hpp"
#include "envelope/rule.hpp"
#include "envelope/time.hpp"

namespace inboxd::envelope {
namespace {

struct Part {
  enum Index : std::size_t { id, type, source, subject, time, count };
};
using Places = std::array<std::string_view, Part::count>;
using Values = std::array<JsonValue, Part::count>;

/// Reads all places in the value, in a single pass. Returns the problem if there is no JSON.
std::string_view look_in_value(const Input& in, const Places& places, Values& out) {
  std::array<std::string_view, Part::count> pointers;
  bool wanted = false;
  for (std::size_t i = 0; i < Part::count; ++i) {
    if (!places[i].starts_with(json_prefix)) continue;
    pointers[i] = places[i].substr(json_prefix.size());
    wanted = true;
  }
  if (!wanted) return {};
  if (!in.value()) return "the value is null";
  return find_in_json(*in.value(), pointers, out, in.arena, in.rules.topic.unwrap);
}

JsonValue text_or_none(event::MaybeBytes bytes, base::Arena& arena) {
  const auto text = producer_text(bytes, arena);
  return text ? JsonValue{JsonValue::Kind::string, *text} : JsonValue{};
}

void look_in_headers_and_key(const Input& in, const Places& places, Values& out) {
  for (std::size_t i = 0; i < Part::count; ++i) {
    if (places[i] == "key") {
      out[i] = text_or_none(in.key(), in.arena);
    } else if (places[i].starts_with(header_prefix)) {
      const auto* header = event::find_header(in.record.headers, places[i].substr(header_prefix.size()));
      if (header != nullptr) out[i] = text_or_none(header->value, in.arena);
    }
  }
}

/// The bytes at a place that is no JSON.
event::MaybeBytes raw_bytes(const event::Record& record, std::string_view place) {
  if (place == "key") return record.key;
  if (!place.starts_with(header_prefix)) return std::nullopt;
  const auto* const header = event::find_header(record.headers, place.substr(header_prefix.size()));
  return header == nullptr ? std::nullopt : header->value;
}

/// 16 bytes as the text of a UUID.
void take_uuid(Reading& out, event::MaybeBytes bytes, config::IdFormat format, base::Arena& arena) {
  base::Uuid uuid;
  if (!bytes) return;
  if (bytes->size() != uuid.bytes.size()) {
    return out.complain(Rejection::bad_id, "the id has ", std::to_string(bytes->size()), " bytes; a UUID has 16");
  }
  std::copy(bytes->begin(), bytes->end(), uuid.bytes.begin());
  if (format == config::IdFormat::uuid_bytes_le) {
    for (const auto& [from, to] : {std::pair{0, 4}, {4, 6}, {6, 8}}) {
      std::reverse(uuid.bytes.begin() + from, uuid.bytes.begin() + to);
    }
  }
  out.id = arena.copy(uuid.text());
}

std::string nothing_at(std::string_view place, std::string_view problem_with_value) {
  if (place.empty()) return "the topic's custom rules set no place for the id";
  std::string out{"no id at "};
  out.append(place);
  if (place.starts_with(json_prefix) && !problem_with_value.empty()) out.append(": ").append(problem_with_value);
  return out;
}

}  // namespace

bool read_custom(const Input& in, Reading& out, std::string* why) {
  const config::CustomRules& rules = in.rules.topic.custom;
  const Places places{rules.id, rules.type, rules.source, rules.subject, rules.time};
  Values values;
  const std::string_view problem = look_in_value(in, places, values);
  look_in_headers_and_key(in, places, values);
  if (rules.id_format == config::IdFormat::text) take_id(out, values[Part::id], Numbers::taken);
  else take_uuid(out, raw_bytes(in.record, rules.id), rules.id_format, in.arena);
  take_attribute(out, out.type, "type", values[Part::type], Numbers::taken);
  take_attribute(out, out.source, "source", values[Part::source], Numbers::taken);
  take_attribute(out, out.subject, "subject", values[Part::subject], Numbers::taken);
  if (rules.time.empty()) out.occurred_at = record_time(in.record);
  else out.occurred_at = parse_time(values[Part::time].text, rules.time_unit);
  if (out.source && out.source->empty()) out.source.reset();
  if (!out.id) out.complain(Rejection::no_id, nothing_at(places[Part::id], problem));
  say(why, "the topic's own rules: id at ", rules.id.empty() ? "no place" : rules.id);
  return true;
}

}  // namespace inboxd::envelope
