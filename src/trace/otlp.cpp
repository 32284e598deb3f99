// OTLP over HTTP with JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. 64-bit numbers are text.
#include "base/text.hpp"
#include "trace/span.hpp"

namespace inboxd::trace {
namespace {

using base::json_quote;

constexpr const char* kind_consumer = "5";
/// A span takes about so much.
constexpr std::size_t usual_size = 1'200;

void add_time(std::string& out, Span::Time time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  out.append("\"").append(std::to_string(since.count())).append("\"");
}

void add(std::string& out, const Span::Attribute& attribute) {
  out.append(R"({"key":")").append(attribute.first).append(R"(","value":{)");  // a constant: nothing to escape
  if (const auto* const text = std::get_if<std::string>(&attribute.second)) {
    out.append(R"("stringValue":)").append(json_quote(*text));
  } else {
    const std::string number = std::to_string(std::get<std::int64_t>(attribute.second));
    out.append(R"("intValue":")").append(number).append("\"");
  }
  out.append("}}");
}

void add_place(std::string& out, const TraceId& trace, const SpanId& span) {
  out.append(R"("traceId":")").append(hex_of(trace)).append(R"(","spanId":")").append(hex_of(span)).append("\"");
}

void add(std::string& out, const Span& span) {
  out.append("{");
  add_place(out, span.trace, span.id);
  if (span.parent) out.append(R"(,"parentSpanId":")").append(hex_of(*span.parent)).append("\"");
  out.append(R"(,"name":)").append(json_quote(span.name)).append(R"(,"kind":)").append(kind_consumer);
  out.append(R"(,"startTimeUnixNano":)");
  add_time(out, span.begin);
  out.append(R"(,"endTimeUnixNano":)");
  add_time(out, span.end);
  out.append(R"(,"attributes":[)");
  for (std::size_t i = 0; i < span.attributes.size(); ++i) {
    if (i > 0) out.append(",");
    add(out, span.attributes[i]);
  }
  out.append("]");
  if (span.link) {
    out.append(R"(,"links":[{)");
    add_place(out, span.link->trace, span.link->span);
    out.append("}]");
  }
  if (span.failure) out.append(R"(,"status":{"code":2,"message":)").append(json_quote(*span.failure)).append("}");
  out.append("}");
}

}  // namespace

std::string otlp_json(const Resource& resource, const std::vector<Span>& spans) {
  std::string out;
  out.reserve((spans.size() + 1) * usual_size);
  out.append(R"({"resourceSpans":[{"resource":{"attributes":[)");
  add(out, Span::Attribute{"service.name", resource.service});
  out.append(",");
  add(out, Span::Attribute{"service.instance.id", resource.instance});
  out.append(",");
  add(out, Span::Attribute{"service.version", resource.version});
  out.append(R"(]},"scopeSpans":[{"scope":{"name":"inboxd","version":)").append(json_quote(resource.version));
  out.append(R"(},"spans":[)");
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i > 0) out.append(",");
    add(out, spans[i]);
  }
  return out.append("]}]}]}");
}

}  // namespace inboxd::trace
