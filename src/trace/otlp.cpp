// OTLP over HTTP with JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. 64-bit numbers are text.
#include "base/text.hpp"
#include "trace/span.hpp"

namespace inboxd::trace {
namespace {

using base::json_quote;

constexpr const char* kind_consumer = "5";

std::string nanoseconds_of(Span::Time time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  return "\"" + std::to_string(since.count()) + "\"";
}

std::string attribute(std::string_view key, const std::variant<std::string, std::int64_t>& value) {
  const auto* const text = std::get_if<std::string>(&value);
  return "{\"key\":" + json_quote(key) + ",\"value\":{" +
         (text != nullptr ? "\"stringValue\":" + json_quote(*text)
                          : "\"intValue\":\"" + std::to_string(std::get<std::int64_t>(value)) + "\"") +
         "}}";
}

std::string place_of(const TraceId& trace, const SpanId& span) {
  return "\"traceId\":\"" + hex_of(trace) + "\",\"spanId\":\"" + hex_of(span) + "\"";
}

std::string span_json(const Span& span) {
  std::string out = "{" + place_of(span.trace, span.id);
  if (span.parent) out += ",\"parentSpanId\":\"" + hex_of(*span.parent) + "\"";
  out += ",\"name\":" + json_quote(span.name) + ",\"kind\":" + kind_consumer;
  out += ",\"startTimeUnixNano\":" + nanoseconds_of(span.begin) + ",\"endTimeUnixNano\":" + nanoseconds_of(span.end);
  out += ",\"attributes\":[";
  for (std::size_t i = 0; i < span.attributes.size(); ++i) {
    out += (i == 0 ? "" : ",") + attribute(span.attributes[i].first, span.attributes[i].second);
  }
  out += "]";
  if (span.link) out += ",\"links\":[{" + place_of(span.link->trace, span.link->span) + "}]";
  if (span.failure) out += ",\"status\":{\"code\":2,\"message\":" + json_quote(*span.failure) + "}";
  return out + "}";
}

}  // namespace

std::string otlp_json(const Resource& resource, const std::vector<Span>& spans) {
  std::string out =
      "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" + attribute("service.name", resource.service) + "," +
      attribute("service.instance.id", resource.instance) + "," + attribute("service.version", resource.version) +
      "]},\"scopeSpans\":[{\"scope\":{\"name\":\"inboxd\",\"version\":" + json_quote(resource.version) +
      "},\"spans\":[";
  for (std::size_t i = 0; i < spans.size(); ++i) out += (i == 0 ? "" : ",") + span_json(spans[i]);
  return out + "]}]}]}";
}

}  // namespace inboxd::trace
