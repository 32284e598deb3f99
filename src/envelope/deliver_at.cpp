// The time before which no handler gets an event: `topics[].deliver_at`.
#include <algorithm>
#include <array>
#include <chrono>

#include "envelope/place.hpp"
#include "envelope/rule.hpp"
#include "envelope/time.hpp"
#include "event/now.hpp"

namespace inboxd::envelope {
namespace {

JsonValue value_at(const Input& in, std::string_view place) {
  if (place.starts_with(header_prefix)) {
    const auto* const header = event::find_header(in.record.headers, place.substr(header_prefix.size()));
    const auto text = header == nullptr ? std::nullopt : producer_text(header->value, in.arena);
    return text ? JsonValue{JsonValue::Kind::string, *text} : JsonValue{};
  }
  if (!in.value()) return {};
  const std::array pointers{place.substr(json_prefix.size())};
  std::array<JsonValue, 1> found;
  find_in_json(*in.value(), pointers, found, in.arena, in.rules.topic.unwrap);
  return found[0];
}

/// The limit is counted from the record's own timestamp, so that a later reading of the record has the same result; but
/// a timestamp in the future does not raise it.
event::Microseconds latest_for(const Input& in) {
  const event::Microseconds now = event::now();
  const std::chrono::microseconds limit{in.rules.topic.deliver_at_limit};
  return std::min(record_time(in.record).value_or(now), now) + limit.count();
}

}  // namespace

void read_deliver_at(const Input& in, Reading& out) {
  const std::string& place = in.rules.topic.deliver_at;
  if (place.empty()) return;
  const JsonValue value = value_at(in, place);
  using Kind = JsonValue::Kind;
  if (value.kind == Kind::none || value.kind == Kind::null) return;
  out.deliver_at = value.kind == Kind::string || value.kind == Kind::number ? database_time(parse_time(value.text))
                                                                           : std::nullopt;
  if (!out.deliver_at) {
    out.complain(Rejection::undecodable, "deliver_at: the value at ", place, " is no time");
  } else if (*out.deliver_at > latest_for(in)) {
    out.complain(Rejection::undecodable, "deliver_at: the value at ", place,
                 " is further ahead than the topic's deliver_at_limit");
  }
}

}  // namespace inboxd::envelope
