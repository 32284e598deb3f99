// OTLP over HTTP with JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. 64-bit numbers are text.
//
// Tens of thousands of spans may go out each second, so every value is appended in place.
#include <array>
#include <charconv>

#include "base/text.hpp"
#include "trace/span.hpp"

namespace inboxd::trace {
namespace {

using base::append_json_quoted;

constexpr const char* kind_producer = "4";
constexpr const char* kind_consumer = "5";
/// Bytes of a typical span.
constexpr std::size_t usual_size = 1'200;

/// A 64-bit number, quoted.
void add_number(std::string& out, std::int64_t number) {
  std::array<char, 22> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append("\"").append(digits.data(), end).append("\"");
}

void add_time(std::string& out, Span::Time time) {
  add_number(out, std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

template <class Id>
void add_hex(std::string& out, const Id& id) {
  out.append("\"");
  base::append_hex(out, {reinterpret_cast<const char*>(id.data()), id.size()});
  out.append("\"");
}

/// Appends attributes to a JSON array. Keys are constants of this program and need no escaping.
class Attributes final {
 public:
  explicit Attributes(std::string& out) : out_{out} { out_.append(R"("attributes":[)"); }
  ~Attributes() { out_.append("]"); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void text(std::string_view key, std::string_view value) {
    begin(key);
    out_.append(R"("stringValue":)");
    append_json_quoted(out_, value);
    out_.append("}}");
  }
  void text_if_any(std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  }
  void number(std::string_view key, std::int64_t value) {
    begin(key);
    out_.append(R"("intValue":)");
    add_number(out_, value);
    out_.append("}}");
  }
  /// A number that the conventions want as text.
  void number_as_text(std::string_view key, std::int64_t value) {
    begin(key);
    out_.append(R"("stringValue":)");
    add_number(out_, value);
    out_.append("}}");
  }

 private:
  void begin(std::string_view key) {
    if (!is_first_) out_.append(",");
    is_first_ = false;
    out_.append(R"({"key":")").append(key).append(R"(","value":{)");
  }

  std::string& out_;
  bool is_first_ = true;
};

/// Names follow OpenTelemetry's conventions for messaging, as far as they go.
void add_record(Attributes& attributes, const Span& span) {
  const bool is_handle = span.step == Span::Step::handle;
  attributes.text("messaging.system", "kafka");
  attributes.text("messaging.operation.name", is_handle ? "handle" : "ingest");
  attributes.text("messaging.operation.type", is_handle ? "process" : "receive");
  attributes.text("messaging.destination.name", span.topic);
  attributes.number_as_text("messaging.destination.partition.id", span.partition);
  attributes.number("messaging.kafka.offset", span.offset);
  attributes.text("messaging.message.id", span.event_id.text());
  attributes.text_if_any("messaging.consumer.group.name", span.group);
}

/// The published message's id and place are unknown here; the event id is that of the source event.
void add_message(Attributes& attributes, const Span& span) {
  attributes.text_if_any("messaging.system", span.system);
  attributes.text("messaging.operation.name", "publish");
  attributes.text("messaging.operation.type", "send");
  attributes.text_if_any("messaging.destination.name", span.topic);
  attributes.text("inboxd.event_id", span.event_id.text());
}

void add_attributes(std::string& out, const Span& span) {
  Attributes attributes{out};
  if (span.step == Span::Step::publish) {
    add_message(attributes, span);
  } else {
    add_record(attributes, span);
  }
  attributes.text_if_any("inboxd.event_type", span.event_type);
  if (span.step == Span::Step::ingest) return;
  attributes.text("inboxd.handler", span.handler);
  attributes.number("inboxd.attempt", span.attempt);
  attributes.text_if_any("inboxd.outcome", span.outcome);
  attributes.text_if_any("error.type", span.error_type);
}

void add_place(std::string& out, const TraceId& trace, const SpanId& span) {
  out.append(R"("traceId":)");
  add_hex(out, trace);
  out.append(R"(,"spanId":)");
  add_hex(out, span);
}

void add(std::string& out, const Span& span) {
  out.append("{");
  add_place(out, span.trace, span.id);
  if (span.parent) {
    out.append(R"(,"parentSpanId":)");
    add_hex(out, *span.parent);
  }
  out.append(R"(,"name":)");
  append_json_quoted(out, name_of(span));
  out.append(R"(,"kind":)").append(span.step == Span::Step::publish ? kind_producer : kind_consumer);
  out.append(R"(,"startTimeUnixNano":)");
  add_time(out, span.begin);
  out.append(R"(,"endTimeUnixNano":)");
  add_time(out, span.end);
  out.append(",");
  add_attributes(out, span);
  if (span.link) {
    out.append(R"(,"links":[{)");
    add_place(out, span.link->trace, span.link->span);
    out.append("}]");
  }
  if (span.failure) {
    out.append(R"(,"status":{"code":2,"message":)");
    append_json_quoted(out, *span.failure);
    out.append("}");
  } else if (!span.error_type.empty()) {
    out.append(R"(,"status":{"code":2})");
  }
  out.append("}");
}

void add_resource(std::string& out, const Resource& resource) {
  Attributes attributes{out};
  attributes.text("service.name", resource.service);
  attributes.text("service.instance.id", resource.instance);
  attributes.text("service.version", resource.version);
}

}  // namespace

std::string name_of(const Span& span) {
  switch (span.step) {
    case Span::Step::ingest:
      return "ingest " + span.topic;
    case Span::Step::handle:
      return "handle " + span.handler;
    case Span::Step::publish:
      return span.topic.empty() ? "publish" : "publish " + span.topic;
  }
  return "ingest " + span.topic;
}

std::string otlp_json(const Resource& resource, const std::vector<Span>& spans) {
  std::string out;
  out.reserve((spans.size() + 1) * usual_size);
  out.append(R"({"resourceSpans":[{"resource":{)");
  add_resource(out, resource);
  out.append(R"(},"scopeSpans":[{"scope":{"name":"inboxd","version":)");
  append_json_quoted(out, resource.version);
  out.append(R"(},"spans":[)");
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (i > 0) out.append(",");
    add(out, spans[i]);
  }
  return out.append("]}]}]}");
}

}  // namespace inboxd::trace
