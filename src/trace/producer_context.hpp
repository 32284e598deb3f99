#pragma once
#include <optional>

#include "event/event.hpp"
#include "trace/context.hpp"

namespace inboxd::trace {

/// The W3C trace context of a record, checked and valid in a header. Views into the event.
struct ProducerTexts {
  event::MaybeBytes traceparent;
  event::MaybeBytes tracestate;  ///< only together with traceparent
};

/// From the first valid header of `traceparent`, `ce_traceparent` and `ce-traceparent`; else from the attribute of that
/// name of a CloudEvent in the payload. Pure; arbitrary bytes are safe.
ProducerTexts producer_texts(const event::Event& event);

std::optional<Context> producer_context(const event::Event& event);

}  // namespace inboxd::trace
