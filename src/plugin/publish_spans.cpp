#include "plugin/publish_spans.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>
#include <vector>

#include "trace/trail.hpp"

namespace inboxd::plugin {
namespace {

/// Of texts that become attributes and names: a topic has at most 249 bytes.
constexpr std::size_t max_attribute_length = 255;

}  // namespace

PublishSpans::~PublishSpans() {
  try {
    for (Begun& begun : begun_) close(begun, "abandoned");
  } catch (const std::bad_alloc&) {  // a span is not worth the process
  }
}

const inboxd_publish_span* PublishSpans::begin(const Delivered& event, std::string_view system,
                                               std::string_view destination) {
  const auto attempt = trace::parse_traceparent(event.traceparent);
  if (!attempt) return nullptr;
  if (begun_.size() == INBOXD_PUBLISH_SPANS) {
    tracer_.count_dropped(1);
    return nullptr;
  }
  if (tracer_.room(1) == 0) return nullptr;
  const trace::SpanId id = trace::random_span_id();
  trace::Span span = trace::publish_span(*attempt, id, *event.event, handler_, event.attempt);
  span.system = system.substr(0, max_attribute_length);
  span.topic = destination.substr(0, max_attribute_length);
  span.begin = std::chrono::system_clock::now();
  Begun& begun = begun_.emplace_back();
  const std::string text = trace::traceparent_of({attempt->trace, id, true});
  std::copy(text.begin(), text.end(), begun.text.begin());
  begun.struct_size = sizeof(inboxd_publish_span);
  begun.traceparent = {begun.text.data(), begun.text.size()};
  begun.span = std::move(span);
  return &begun;
}

void PublishSpans::end(const inboxd_publish_span* span, std::string error_class) {
  // Spans usually end in reverse order.
  const auto at = std::find_if(begun_.rbegin(), begun_.rend(), [&](const Begun& begun) { return &begun == span; });
  if (at != begun_.rend()) close(*at, std::move(error_class));
}

void PublishSpans::close(Begun& begun, std::string error_class) {
  if (!begun.span) return;
  begun.span->end = std::chrono::system_clock::now();
  begun.span->error_type = std::move(error_class);
  std::vector<trace::Span> ended;
  ended.push_back(std::move(*begun.span));
  begun.span.reset();
  tracer_.add(std::move(ended));
}

}  // namespace inboxd::plugin
