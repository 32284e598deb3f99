// SPDX-License-Identifier: Apache-2.0
//
// Spans of the messages that a handler publishes, on top of <inboxd/trace.h>. Include <inboxd/handler.hpp>.
#pragma once

#include <inboxd/basics.hpp>
#include <inboxd/trace.h>

#include <cstddef>
#include <string_view>
#include <utility>

namespace inboxd {

// The span of a published message, on the call's thread, during the call. Destroyed without `sent` or `failed`, as by
// an exception, it ends as `abandoned`. Does nothing if the daemon does not trace the event.
//
//     inboxd::PublishSpan span = call.publish_span(event, "kafka", "receipts");
//     send(message, span.traceparent());
//     span.sent();
class [[nodiscard]] PublishSpan {
 public:
  // `part`: the call's part of the extension; null if the daemon lacks it.
  PublishSpan(inboxd_call* call, const inboxd_trace* part, std::size_t index, std::string_view system,
              std::string_view destination)
      : call_{call}, part_{part} {
    if (part == nullptr) return;
    if (INBOXD_HAS(part, end_publish)) {
      span_ = part->begin_publish(call, index, detail::bytes(system), detail::bytes(destination));
    }
    traceparent_ = detail::maybe(span_ == nullptr ? part->traceparent(call, index) : span_->traceparent);
  }
  PublishSpan(PublishSpan&& other) noexcept
      : call_{other.call_},
        part_{other.part_},
        span_{std::exchange(other.span_, nullptr)},
        traceparent_{other.traceparent_} {}
  PublishSpan& operator=(PublishSpan&&) = delete;
  ~PublishSpan() { end(false, "abandoned"); }

  // For the message: the span's context, or else the event's, or nullopt. Valid until `handle` returns.
  MaybeText traceparent() const { return traceparent_; }
  // The messaging system has accepted the message.
  void sent() { end(true, {}); }
  // It has not, or that is unknown. `error_class` is short and dotted, as in a verdict.
  void failed(std::string_view error_class) { end(false, error_class); }

 private:
  void end(bool is_sent, std::string_view error_class) {
    if (span_ != nullptr) part_->end_publish(call_, span_, is_sent, detail::bytes(error_class));
    span_ = nullptr;
  }

  inboxd_call* call_;
  const inboxd_trace* part_;
  const inboxd_publish_span* span_ = nullptr;
  MaybeText traceparent_;
};

}  // namespace inboxd
