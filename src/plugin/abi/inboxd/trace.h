/* SPDX-License-Identifier: Apache-2.0
 *
 * The extension `inboxd.trace/1`: the W3C trace context of each event of a call, for whatever the handler asks of
 * others on its behalf (an HTTP request's `traceparent` header). Every plugin may ask for the call's part; one that
 * names INBOXD_TRACE in its `needs` is refused by a daemon that has none.
 *
 *     const inboxd_trace* const trace = (const inboxd_trace*)call->extension(call, INBOXD_TRACE);
 *     inboxd_bytes parent = trace == NULL ? inboxd_text(NULL) : trace->traceparent(call, 0);
 *     if (parent.data != NULL) add_header(request, "traceparent", parent);
 *
 * What is published because of an event can have a span of its own in the same trace, where the daemon sends spans
 * (`tracing.endpoint`), and its reader goes on from there:
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

/* The name of the call's part (inboxd_trace), and for `needs`. The host has no part. */
#define INBOXD_TRACE "inboxd.trace/1"

#define INBOXD_PUBLISH_SPANS 1000 /* in one call; more messages go without */

/* The span of one message that a handler publishes, from just before it is sent until it is known what became of it.
 * Borrowed until `handle` returns, also after it has ended; what has not ended by then ends with the error type
 * `abandoned`. */
typedef struct inboxd_publish_span {
  uint32_t struct_size;
  uint32_t reserved;        /* 0 */
  inboxd_bytes traceparent; /* the context of this span, to go with the message: 55 characters */
} inboxd_publish_span;

typedef struct inboxd_trace {
  uint32_t struct_size;
  uint32_t reserved; /* 0 */

  /* [call] The context that work on the event at `index` belongs to: where the daemon sends spans itself, that of its
   * span of this attempt; else what the producer wrote, into a header (`traceparent`, `ce_traceparent`) or the
   * CloudEvent. Always a valid one of 55 characters, fit for a header; null where there is none. Borrowed until
   * `handle` returns. */
  inboxd_bytes (*traceparent)(inboxd_call* call, size_t index);

  /* [call] The producer's `tracestate`, to be handed on beside it as it is: printable ASCII. Null where there is none,
   * and where the daemon's span belongs to another trace than the producer's. Borrowed until `handle` returns. */
  inboxd_bytes (*tracestate)(inboxd_call* call, size_t index);

  /* [call] Begins the span of a message that is published because of the event at `index`. `system` is what carries it,
   * as OpenTelemetry names it (`kafka`, `rabbitmq`), `destination` where to: a topic or queue, one of few, no id. Null
   * where one has no name; of each 255 bytes are kept. NULL where the event is not traced by the daemon, and where
   * spans have no room (`tracing.queue`, INBOXD_PUBLISH_SPANS): the message goes without, or with `traceparent` above.
   */
  const inboxd_publish_span* (*begin_publish)(inboxd_call* call, size_t index, inboxd_bytes system,
                                              inboxd_bytes destination);

  /* [call] Ends it, once: it goes to the collector. Where it was not sent, or that is not known, `error_class` says
   * why, short and dotted as in a verdict; null where there is no word for it. NULL, a span that has ended, or one that
   * this call does not have changes nothing. */
  void (*end_publish)(inboxd_call* call, const inboxd_publish_span* span, bool is_sent, inboxd_bytes error_class);
} inboxd_trace;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* INBOXD_TRACE_H */
