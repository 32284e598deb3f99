#pragma once
#include <optional>
#include <string_view>

#include "config/settings.hpp"
#include "event/event.hpp"
#include "trace/span.hpp"

namespace inboxd::trace {

/// The trace that an event's spans belong to. It follows from the event alone, so that a handler that runs days later,
/// in another process, hangs its span where the span of ingest was.
struct Trail {
  TraceId trace{};
  SpanId ingest{};  ///< the span that stored it
  std::optional<Context> producer;
};

/// Nothing where the event is not to be traced. Pure.
std::optional<Trail> trail_of(const event::Event& event, const config::Tracing& settings);

/// Where an event came from, for a span's attributes.
struct Origin {
  std::string_view topic;
  std::int32_t partition = 0;
  std::string_view group;  ///< may be empty
};

/// The span of an event's way into the inbox.
Span ingest_span(const Trail& trail, const event::Event& event, const Origin& origin, const config::Tracing& settings);
/// The span of one attempt of a handler, whose id is `id`. Times, outcome and failure are the caller's.
Span handle_span(const Trail& trail, const SpanId& id, const event::Event& event, const Origin& origin,
                 std::string_view handler, std::int32_t attempt);

/// The span, whose id is `id`, of what a handler publishes in the attempt whose span is `attempt_span`. Times and
/// failure are the caller's.
Span publish_span(const Context& attempt_span, const SpanId& id, const event::Event& event, std::string_view handler,
                  std::int32_t attempt);

}  // namespace inboxd::trace
