#pragma once
#include <array>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "plugin/abi/inboxd/trace.h"
#include "plugin/plugin.hpp"
#include "trace/context.hpp"
#include "trace/tracer.hpp"

namespace inboxd::plugin {

/// The spans of what a handler publishes in one call. Each goes to the tracer as soon as it has ended: what was
/// published is, also where the call's transaction is undone. The call's thread; it borrows tracer and handler's name.
class PublishSpans final {
 public:
  PublishSpans(trace::Tracer& tracer, const std::string& handler) : tracer_{tracer}, handler_{handler} {}
  ~PublishSpans();
  PublishSpans(const PublishSpans&) = delete;
  PublishSpans& operator=(const PublishSpans&) = delete;

  /// Null where there is no room: the tracer's, or for more than INBOXD_PUBLISH_SPANS. `event` has the traceparent of
  /// its attempt.
  const inboxd_publish_span* begin(const Delivered& event, std::string_view system, std::string_view destination);
  /// A span that has ended, or is none of these, changes nothing. `error_class` empty: it was sent.
  void end(const inboxd_publish_span* span, std::string error_class);

 private:
  /// Stays until the call ends, so that no pointer of the handler's ever means another.
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
