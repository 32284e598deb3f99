#pragma once
#include <optional>

#include "event/event.hpp"
#include "trace/context.hpp"

namespace inboxd::trace {

/// The W3C trace context that an event came with, as text, checked: fit to be handed on in a header. Views into the
/// event.
struct ProducerTexts {
  event::MaybeBytes traceparent;
  event::MaybeBytes tracestate;  ///< never without the other
};

/// From the headers `traceparent`, `ce_traceparent` or `ce-traceparent`, the first valid one; else from the attribute
/// of that name of a CloudEvent in the payload. Pure; bytes of any kind do no harm.
ProducerTexts producer_texts(const event::Event& event);

std::optional<Context> producer_context(const event::Event& event);

}  // namespace inboxd::trace
