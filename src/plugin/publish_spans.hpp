#pragma once
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/abi/inboxd/trace.h"
#include "plugin/instance.hpp"
#include "trace/context.hpp"
#include "trace/tracer.hpp"

namespace inboxd::plugin {

/// The spans of messages that a handler publishes in a call. A span goes to the tracer as soon as it ends, even if the
/// call's transaction rolls back: the message is out. The call's thread; borrows the tracer and the handler's name.
class PublishSpans final {
 public:
  PublishSpans(trace::Tracer& tracer, const std::string& handler) : tracer_{tracer}, handler_{handler} {}
  ~PublishSpans();
  PublishSpans(const PublishSpans&) = delete;
  PublishSpans& operator=(const PublishSpans&) = delete;

  /// Null if the tracer's queue is full or the call has INBOXD_PUBLISH_SPANS spans. `event` has its attempt's
  /// traceparent.
  const inboxd_publish_span* begin(const Delivered& event, std::string_view system, std::string_view destination);
  /// Ignores a span that has ended or is unknown. `error_class` empty: sent.
  void end(const inboxd_publish_span* span, std::string error_class);

 private:
  /// Stays until the call ends, so that a stale pointer never means another span.
  struct Begun : inboxd_publish_span {
    std::array<char, trace::traceparent_length> text{};
    std::optional<trace::Span> span;  ///< until it has ended
  };

  void close(Begun& begun, std::string error_class);

  trace::Tracer& tracer_;
  const std::string& handler_;
  std::deque<Begun> begun_;
};

}  // namespace inboxd::plugin
