#pragma once
#include <optional>
#include <string_view>

#include "config/settings.hpp"
#include "event/event.hpp"
#include "trace/span.hpp"

namespace inboxd::trace {

/// The trace of an event's spans. It follows from the event alone, so that a handler that runs days later, in another
/// process, attaches its span to the span of ingest.
struct Trail {
  TraceId trace{};
  SpanId ingest{};  ///< the span of ingest
  std::optional<Context> producer;
};

/// nullopt: not traced. Pure.
std::optional<Trail> trail_of(const event::Event& event, const config::Tracing& settings);

/// An event's coordinates, for span attributes.
struct Origin {
  std::string_view topic;
  std::int32_t partition = 0;
  std::string_view group;  ///< may be empty
};

/// The span of ingest.
Span ingest_span(const Trail& trail, const event::Event& event, const Origin& origin, const config::Tracing& settings);
/// The span of a handler's attempt; its id is `id`. The caller fills in times, outcome and failure.
Span handle_span(const Trail& trail, const SpanId& id, const event::Event& event, const Origin& origin,
                 std::string_view handler, std::int32_t attempt);

/// The span of a message that a handler publishes in the attempt of `attempt_span`; its id is `id`. The caller fills in
/// times and failure.
Span publish_span(const Context& attempt_span, const SpanId& id, const event::Event& event, std::string_view handler,
                  std::int32_t attempt);

}  // namespace inboxd::trace
