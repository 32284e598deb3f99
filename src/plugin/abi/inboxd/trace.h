/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.trace/1`: each event's W3C trace context, for the handler's own requests. It works without
 * INBOXD_TRACE in `needs`; with it, a daemon that lacks the extension refuses the plugin.
 *
 *     const inboxd_trace* const trace = (const inboxd_trace*)call->extension(call, INBOXD_TRACE);
 *     inboxd_bytes parent = trace == NULL ? inboxd_text(NULL) : trace->traceparent(call, 0);
 *     if (parent.data != NULL) add_header(request, "traceparent", parent);
 *
 * If the daemon sends spans (`tracing.endpoint`), a published message can have its own span in the event's trace, from
 * which the message's consumer continues:
 *
 *     const inboxd_publish_span* span = NULL;
 *     if (trace != NULL && INBOXD_HAS(trace, end_publish)) {
 *       span = trace->begin_publish(call, 0, inboxd_text("kafka"), inboxd_text("receipts"));
 *     }
 *     if (span != NULL) parent = span->traceparent;
 *     if (parent.data != NULL) add_header(message, "traceparent", parent);
 *     is_sent = send_and_wait(message);
 *     if (span != NULL) trace->end_publish(call, span, is_sent, inboxd_text("timeout"));
 */
#ifndef INBOXD_TRACE_H
#define INBOXD_TRACE_H

#include "handler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For `needs`, and the name of the call's part (inboxd_trace). The host has no part. */
#define INBOXD_TRACE "inboxd.trace/1"

#define INBOXD_PUBLISH_SPANS 1000 /* in one call; further messages get none */

/* The span of one published message, from just before sending until the result is known. Borrowed until `handle`
 * returns, even if ended. A span still open by then ends with error type `abandoned`. */
typedef struct inboxd_publish_span {
  uint32_t struct_size;
  uint32_t reserved;        /* 0 */
  inboxd_bytes traceparent; /* this span's context, for the message: 55 characters */
} inboxd_publish_span;

typedef struct inboxd_trace {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [call] The trace context of the event at `index`: of the daemon's span of this attempt, if it traces the event, or
   * the producer's (header `traceparent` or `ce_traceparent`, or the CloudEvent). 55 valid characters, or null.
   * Borrowed until `handle` returns. */
  inboxd_bytes (*traceparent)(inboxd_call* call, size_t index);

  /* [call] The producer's `tracestate`, to send unchanged beside `traceparent`: printable ASCII. Null: none, or the
   * daemon's span belongs to another trace. Borrowed until `handle` returns. */
  inboxd_bytes (*tracestate)(inboxd_call* call, size_t index);

  /* [call] Begins the span of a message published for the event at `index`. `system`: OpenTelemetry's name (`kafka`,
   * `rabbitmq`). `destination`: a topic or queue, one of few names. Both may be null and are cut at 255 bytes. NULL if
   * the daemon does not trace the event or has no room (`tracing.queue`, INBOXD_PUBLISH_SPANS): then send `traceparent`
   * above, or none. */
  const inboxd_publish_span* (*begin_publish)(inboxd_call* call, size_t index, inboxd_bytes system,
                                              inboxd_bytes destination);

  /* [call] Ends a span, once; the collector gets it. `is_sent` false: not sent, or unknown, for the reason
   * `error_class` (as in a verdict; may be null). Ignores NULL, ended spans and spans of other calls. */
  void (*end_publish)(inboxd_call* call, const inboxd_publish_span* span, bool is_sent, inboxd_bytes error_class);
} inboxd_trace;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_TRACE_H */
