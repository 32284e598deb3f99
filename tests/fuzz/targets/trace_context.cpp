// The W3C trace context in a record's headers or payload.
#include "event/headers.hpp"
#include "fuzz/target.hpp"
#include "trace/context.hpp"
#include "trace/producer_context.hpp"

using namespace inboxd;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  const auto text = input.text();
  if (const auto context = trace::parse_traceparent(text)) {
    const std::string written = trace::traceparent_of(*context);
    fuzz::require(written.size() == trace::traceparent_length, "a traceparent has 55 characters");
    fuzz::require(trace::parse_traceparent(written) == context, "a traceparent reads the same");
  }
  const std::string headers = event::pack_headers({{"traceparent", text}, {"tracestate", input.text()}});
  event::Event event;
  event.headers = headers;
  event.payload = input.rest();
  const auto texts = trace::producer_texts(event);
  fuzz::require(!texts.tracestate || texts.traceparent, "no tracestate without a traceparent");
  if (texts.traceparent) fuzz::require(trace::parse_traceparent(*texts.traceparent).has_value(), "it is valid");
  return 0;
}
